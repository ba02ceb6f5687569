; From native.c, sha256 1c107d16ed8d3c6782e5a9c9c6dd548d6e5911d652958eecb0898eb5596723fe, by tools/compile_native.py with clang 14.

%struct.Slot = type { ptr, ptr, ptr, i64, i64, i64, i64 }
%struct.Chunks = type { i64, i64, i64, i64, ptr, ptr }
%struct.Layout = type { i64, i64 }
%struct.TfJob = type { ptr, %struct.Chunks, [8 x ptr] }
%struct.TfKernel = type { ptr, ptr, ptr, i64, i64, i64, i64 }
%struct.Worker = type { i64, [7 x i64], [8 x i64] }
%struct.Call = type { ptr, ptr, i64, ptr, ptr, ptr, ptr }
%struct.Data = type { i64, i64, i64, i64, i64, ptr, i64 }
%struct.Record = type { ptr, ptr, [0 x i64] }
%struct.Settings = type { i64, i64, i64, i64, double, double, double, i64 }
%struct.XLA_FFI_Error_Create_Args = type { i64, ptr, ptr, i32 }
%struct.XlaJob = type { ptr, i64, i64, ptr, ptr, %struct.Chunks, [8 x ptr] }
%struct.XLA_FFI_ThreadPool_NumThreads_Args = type { i64, ptr, ptr, ptr }
%struct.XLA_FFI_Future_Create_Args = type { i64, ptr, ptr }
%struct.XLA_FFI_ThreadPool_Schedule_Args = type { i64, ptr, ptr, ptr, ptr }
%struct.XLA_FFI_CallFrame = type { i64, ptr, ptr, ptr, i32, %struct.XLA_FFI_Args, %struct.XLA_FFI_Rets, %struct.XLA_FFI_Attrs, ptr }
%struct.XLA_FFI_Args = type { i64, ptr, i64, ptr, ptr }
%struct.XLA_FFI_Rets = type { i64, ptr, i64, ptr, ptr }
%struct.XLA_FFI_Attrs = type { i64, ptr, i64, ptr, ptr, ptr }
%struct.XLA_FFI_Extension_Base = type { i64, i32, ptr }
%struct.XLA_FFI_Metadata_Extension = type { %struct.XLA_FFI_Extension_Base, ptr }
%struct.XLA_FFI_Metadata = type { i64, %struct.XLA_FFI_Api_Version, i32, %struct.XLA_FFI_TypeId }
%struct.XLA_FFI_Api_Version = type { i64, ptr, i32, i32 }
%struct.XLA_FFI_TypeId = type { i64 }
%struct.XLA_FFI_Api = type { i64, ptr, %struct.XLA_FFI_Api_Version, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr }
%struct.XLA_FFI_Buffer = type { i64, ptr, i32, ptr, i64, ptr }
%struct.XLA_FFI_Error_Destroy_Args = type { i64, ptr, ptr }
%struct.XLA_FFI_Future_SetAvailable_Args = type { i64, ptr, ptr }

@OPERANDS = external constant i64, align 8
@RESULTS = external constant i64, align 8
@DURATION = external constant i64, align 8
@stubs = internal constant [64 x ptr] [ptr @stub000, ptr @stub001, ptr @stub002, ptr @stub003, ptr @stub004, ptr @stub005, ptr @stub006, ptr @stub007, ptr @stub010, ptr @stub011, ptr @stub012, ptr @stub013, ptr @stub014, ptr @stub015, ptr @stub016, ptr @stub017, ptr @stub020, ptr @stub021, ptr @stub022, ptr @stub023, ptr @stub024, ptr @stub025, ptr @stub026, ptr @stub027, ptr @stub030, ptr @stub031, ptr @stub032, ptr @stub033, ptr @stub034, ptr @stub035, ptr @stub036, ptr @stub037, ptr @stub040, ptr @stub041, ptr @stub042, ptr @stub043, ptr @stub044, ptr @stub045, ptr @stub046, ptr @stub047, ptr @stub050, ptr @stub051, ptr @stub052, ptr @stub053, ptr @stub054, ptr @stub055, ptr @stub056, ptr @stub057, ptr @stub060, ptr @stub061, ptr @stub062, ptr @stub063, ptr @stub064, ptr @stub065, ptr @stub066, ptr @stub067, ptr @stub070, ptr @stub071, ptr @stub072, ptr @stub073, ptr @stub074, ptr @stub075, ptr @stub076, ptr @stub077], align 8
@slots = internal global [64 x %struct.Slot] zeroinitializer, align 8
@.str = private unnamed_addr constant [7 x i8] c"kernel\00", align 1
@.str.1 = private unnamed_addr constant [8 x i8] c"process\00", align 1
@PROCESS = external constant i64, align 8
@.str.2 = private unnamed_addr constant [81 x i8] c"a softgate kernel of another process: save the function, not its optimised graph\00", align 1
@POOL = external constant i64, align 8
@MIN_BYTES = external constant i64, align 8
@INPUTS = external constant i64, align 8
@PARAMETERS = external constant i64, align 8
@TYPE = external constant i64, align 8
@FUNCTIONS = external constant i64, align 8
@ARRAYS = external constant i64, align 8
@UFUNC = external constant i64, align 8
@FLAGS = external constant i64, align 8
@TYPE_ERROR = external constant i64, align 8
@TENSORS = external constant i64, align 8
@FAST_PATH = external constant i64, align 8
@ITEM = external constant i64, align 8
@FLUSH = external constant i64, align 8
@XLA_MAJOR = external constant i64, align 8
@XLA_MINOR = external constant i64, align 8
@XLA_HAS_STATE = external constant i64, align 8
@.str.3 = private unnamed_addr constant [70 x i8] c"softgate: the number of operands or results is not that of the target\00", align 1
@.str.4 = private unnamed_addr constant [55 x i8] c"the operands of a softgate kernel have different sizes\00", align 1
@NONE = external constant i64, align 8

define i64 @run_chunks(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = load ptr, ptr %2, align 8
  %5 = getelementptr inbounds %struct.Chunks, ptr %4, i64 1
  %6 = call i64 @process(ptr noundef %3, i64 noundef 0, ptr noundef null, ptr noundef %5)
  ret i64 %6
}

define internal i64 @process(ptr noundef %0, i64 noundef %1, ptr noundef %2, ptr noundef %3) alwaysinline nounwind {
  %5 = alloca ptr, align 8
  %6 = alloca i64, align 8
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca i64, align 8
  %11 = alloca i64, align 8
  %12 = alloca i64, align 8
  %13 = alloca i64, align 8
  %14 = alloca i64, align 8
  %15 = alloca i64, align 8
  %16 = alloca i64, align 8
  %17 = alloca i64, align 8
  %18 = alloca i64, align 8
  store ptr %0, ptr %5, align 8
  store i64 %1, ptr %6, align 8
  store ptr %2, ptr %7, align 8
  store ptr %3, ptr %8, align 8
  %19 = load i64, ptr @OPERANDS, align 8
  %20 = call ptr @llvm.stacksave()
  store ptr %20, ptr %9, align 8
  %21 = alloca ptr, i64 %19, align 8
  store i64 %19, ptr %10, align 8
  store i64 0, ptr %12, align 8
  br label %22

22:
  %23 = load ptr, ptr %5, align 8
  %24 = getelementptr inbounds %struct.Chunks, ptr %23, i32 0, i32 0
  %25 = load ptr, ptr %5, align 8
  %26 = getelementptr inbounds %struct.Chunks, ptr %25, i32 0, i32 2
  %27 = load i64, ptr %26, align 8
  store i64 %27, ptr %13, align 8
  %28 = load i64, ptr %13, align 8
  %29 = atomicrmw add ptr %24, i64 %28 monotonic, align 8
  store i64 %29, ptr %14, align 8
  %30 = load i64, ptr %14, align 8
  store i64 %30, ptr %11, align 8
  %31 = load ptr, ptr %5, align 8
  %32 = getelementptr inbounds %struct.Chunks, ptr %31, i32 0, i32 1
  %33 = load i64, ptr %32, align 8
  %34 = icmp slt i64 %30, %33
  br i1 %34, label %35, label %128

35:
  %36 = load ptr, ptr %5, align 8
  %37 = getelementptr inbounds %struct.Chunks, ptr %36, i32 0, i32 2
  %38 = load i64, ptr %37, align 8
  %39 = load ptr, ptr %5, align 8
  %40 = getelementptr inbounds %struct.Chunks, ptr %39, i32 0, i32 1
  %41 = load i64, ptr %40, align 8
  %42 = load i64, ptr %11, align 8
  %43 = sub nsw i64 %41, %42
  %44 = icmp slt i64 %38, %43
  br i1 %44, label %45, label %49

45:
  %46 = load ptr, ptr %5, align 8
  %47 = getelementptr inbounds %struct.Chunks, ptr %46, i32 0, i32 2
  %48 = load i64, ptr %47, align 8
  br label %55

49:
  %50 = load ptr, ptr %5, align 8
  %51 = getelementptr inbounds %struct.Chunks, ptr %50, i32 0, i32 1
  %52 = load i64, ptr %51, align 8
  %53 = load i64, ptr %11, align 8
  %54 = sub nsw i64 %52, %53
  br label %55

55:
  %56 = phi i64 [ %48, %45 ], [ %54, %49 ]
  store i64 %56, ptr %15, align 8
  %57 = load i64, ptr %6, align 8
  %58 = icmp ne i64 %57, 0
  br i1 %58, label %59, label %63

59:
  %60 = load i64, ptr %11, align 8
  %61 = load i64, ptr %15, align 8
  %62 = add nsw i64 %60, %61
  br label %66

63:
  %64 = load i64, ptr %11, align 8
  %65 = add nsw i64 %64, 1
  br label %66

66:
  %67 = phi i64 [ %62, %59 ], [ %65, %63 ]
  store i64 %67, ptr %16, align 8
  %68 = load i64, ptr %11, align 8
  store i64 %68, ptr %17, align 8
  br label %69

69:
  %70 = load i64, ptr %17, align 8
  %71 = load i64, ptr %16, align 8
  %72 = icmp slt i64 %70, %71
  br i1 %72, label %73, label %124

73:
  store i64 0, ptr %18, align 8
  br label %74

74:
  %75 = load i64, ptr %18, align 8
  %76 = load i64, ptr @OPERANDS, align 8
  %77 = icmp slt i64 %75, %76
  br i1 %77, label %78, label %105

78:
  %79 = load ptr, ptr %8, align 8
  %80 = load i64, ptr %18, align 8
  %81 = getelementptr inbounds ptr, ptr %79, i64 %80
  %82 = load ptr, ptr %81, align 8
  %83 = load i64, ptr %17, align 8
  %84 = load ptr, ptr %5, align 8
  %85 = getelementptr inbounds %struct.Chunks, ptr %84, i32 0, i32 3
  %86 = load i64, ptr %85, align 8
  %87 = mul nsw i64 %83, %86
  %88 = load ptr, ptr %7, align 8
  %89 = icmp ne ptr %88, null
  br i1 %89, label %90, label %95

90:
  %91 = load ptr, ptr %7, align 8
  %92 = load i64, ptr %18, align 8
  %93 = getelementptr inbounds i64, ptr %91, i64 %92
  %94 = load i64, ptr %93, align 8
  br label %96

95:
  br label %96

96:
  %97 = phi i64 [ %94, %90 ], [ 1, %95 ]
  %98 = mul nsw i64 %87, %97
  %99 = getelementptr inbounds i8, ptr %82, i64 %98
  %100 = load i64, ptr %18, align 8
  %101 = getelementptr inbounds ptr, ptr %21, i64 %100
  store ptr %99, ptr %101, align 8
  br label %102

102:
  %103 = load i64, ptr %18, align 8
  %104 = add nsw i64 %103, 1
  store i64 %104, ptr %18, align 8
  br label %74

105:
  %106 = load ptr, ptr %5, align 8
  %107 = getelementptr inbounds %struct.Chunks, ptr %106, i32 0, i32 4
  %108 = load ptr, ptr %107, align 8
  %109 = load ptr, ptr %5, align 8
  %110 = getelementptr inbounds %struct.Chunks, ptr %109, i32 0, i32 5
  %111 = load ptr, ptr %110, align 8
  %112 = load i64, ptr %6, align 8
  %113 = icmp ne i64 %112, 0
  br i1 %113, label %114, label %116

114:
  %115 = load i64, ptr %6, align 8
  br label %118

116:
  %117 = load i64, ptr %15, align 8
  br label %118

118:
  %119 = phi i64 [ %115, %114 ], [ %117, %116 ]
  %120 = load i64, ptr @OPERANDS, align 8
  call void @call(ptr noundef %108, ptr noundef %21, ptr noundef %111, i64 noundef %119, i64 noundef %120)
  br label %121

121:
  %122 = load i64, ptr %17, align 8
  %123 = add nsw i64 %122, 1
  store i64 %123, ptr %17, align 8
  br label %69

124:
  %125 = load i64, ptr %15, align 8
  %126 = load i64, ptr %12, align 8
  %127 = add nsw i64 %126, %125
  store i64 %127, ptr %12, align 8
  br label %22

128:
  %129 = load i64, ptr %12, align 8
  %130 = load ptr, ptr %9, align 8
  call void @llvm.stackrestore(ptr %130)
  ret i64 %129
}

define i64 @run_row_chunks(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %5 = load ptr, ptr %2, align 8
  %6 = getelementptr inbounds %struct.Chunks, ptr %5, i64 1
  store ptr %6, ptr %3, align 8
  %7 = load ptr, ptr %3, align 8
  %8 = getelementptr inbounds i64, ptr %7, i64 1
  store ptr %8, ptr %4, align 8
  %9 = load ptr, ptr %2, align 8
  %10 = load ptr, ptr %3, align 8
  %11 = getelementptr inbounds i64, ptr %10, i64 0
  %12 = load i64, ptr %11, align 8
  %13 = load ptr, ptr %4, align 8
  %14 = load ptr, ptr %4, align 8
  %15 = load i64, ptr @OPERANDS, align 8
  %16 = getelementptr inbounds i64, ptr %14, i64 %15
  %17 = call i64 @process(ptr noundef %9, i64 noundef %12, ptr noundef %13, ptr noundef %16)
  ret i64 %17
}

define i64 @run_row_blocks(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  %5 = alloca i64, align 8
  %6 = alloca ptr, align 8
  %7 = alloca i64, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca i64, align 8
  %11 = alloca i64, align 8
  %12 = alloca i64, align 8
  %13 = alloca i64, align 8
  %14 = alloca i64, align 8
  %15 = alloca i64, align 8
  %16 = alloca i64, align 8
  %17 = alloca i64, align 8
  %18 = alloca i64, align 8
  %19 = alloca i64, align 8
  %20 = alloca i64, align 8
  %21 = alloca i64, align 8
  %22 = alloca ptr, align 8
  %23 = alloca i64, align 8
  %24 = alloca i64, align 8
  %25 = alloca i64, align 8
  %26 = alloca i64, align 8
  store ptr %0, ptr %2, align 8
  %27 = load i64, ptr @OPERANDS, align 8
  %28 = call ptr @llvm.stacksave()
  store ptr %28, ptr %3, align 8
  %29 = alloca ptr, i64 %27, align 8
  store i64 %27, ptr %4, align 8
  %30 = load i64, ptr @OPERANDS, align 8
  %31 = alloca [512 x i64], i64 %30, align 8
  store i64 %30, ptr %5, align 8
  %32 = load ptr, ptr %2, align 8
  %33 = getelementptr inbounds %struct.Chunks, ptr %32, i64 1
  store ptr %33, ptr %6, align 8
  %34 = load ptr, ptr %6, align 8
  %35 = getelementptr inbounds i64, ptr %34, i64 0
  %36 = load i64, ptr %35, align 8
  store i64 %36, ptr %7, align 8
  %37 = load ptr, ptr %6, align 8
  %38 = getelementptr inbounds i64, ptr %37, i64 1
  store ptr %38, ptr %8, align 8
  %39 = load ptr, ptr %8, align 8
  %40 = load i64, ptr @OPERANDS, align 8
  %41 = getelementptr inbounds %struct.Layout, ptr %39, i64 %40
  store ptr %41, ptr %9, align 8
  %42 = load i64, ptr %7, align 8
  %43 = icmp slt i64 %42, 64
  br i1 %43, label %44, label %47

44:
  %45 = load i64, ptr %7, align 8
  %46 = sdiv i64 512, %45
  br label %48

47:
  br label %48

48:
  %49 = phi i64 [ %46, %44 ], [ 1, %47 ]
  store i64 %49, ptr %10, align 8
  %50 = call i64 @allow_subnormals()
  store i64 %50, ptr %11, align 8
  store i64 0, ptr %13, align 8
  br label %51

51:
  %52 = load ptr, ptr %2, align 8
  %53 = getelementptr inbounds %struct.Chunks, ptr %52, i32 0, i32 0
  %54 = load ptr, ptr %2, align 8
  %55 = getelementptr inbounds %struct.Chunks, ptr %54, i32 0, i32 2
  %56 = load i64, ptr %55, align 8
  store i64 %56, ptr %14, align 8
  %57 = load i64, ptr %14, align 8
  %58 = atomicrmw add ptr %53, i64 %57 monotonic, align 8
  store i64 %58, ptr %15, align 8
  %59 = load i64, ptr %15, align 8
  store i64 %59, ptr %12, align 8
  %60 = load ptr, ptr %2, align 8
  %61 = getelementptr inbounds %struct.Chunks, ptr %60, i32 0, i32 1
  %62 = load i64, ptr %61, align 8
  %63 = icmp slt i64 %59, %62
  br i1 %63, label %64, label %237

64:
  %65 = load ptr, ptr %2, align 8
  %66 = getelementptr inbounds %struct.Chunks, ptr %65, i32 0, i32 1
  %67 = load i64, ptr %66, align 8
  %68 = load i64, ptr %12, align 8
  %69 = load ptr, ptr %2, align 8
  %70 = getelementptr inbounds %struct.Chunks, ptr %69, i32 0, i32 2
  %71 = load i64, ptr %70, align 8
  %72 = add nsw i64 %68, %71
  %73 = icmp slt i64 %67, %72
  br i1 %73, label %74, label %78

74:
  %75 = load ptr, ptr %2, align 8
  %76 = getelementptr inbounds %struct.Chunks, ptr %75, i32 0, i32 1
  %77 = load i64, ptr %76, align 8
  br label %84

78:
  %79 = load i64, ptr %12, align 8
  %80 = load ptr, ptr %2, align 8
  %81 = getelementptr inbounds %struct.Chunks, ptr %80, i32 0, i32 2
  %82 = load i64, ptr %81, align 8
  %83 = add nsw i64 %79, %82
  br label %84

84:
  %85 = phi i64 [ %77, %74 ], [ %83, %78 ]
  store i64 %85, ptr %16, align 8
  %86 = load i64, ptr %12, align 8
  store i64 %86, ptr %18, align 8
  br label %87

87:
  %88 = load i64, ptr %18, align 8
  %89 = load i64, ptr %16, align 8
  %90 = icmp slt i64 %88, %89
  br i1 %90, label %91, label %231

91:
  %92 = load i64, ptr %10, align 8
  %93 = load i64, ptr %16, align 8
  %94 = load i64, ptr %18, align 8
  %95 = sub nsw i64 %93, %94
  %96 = icmp slt i64 %92, %95
  br i1 %96, label %97, label %99

97:
  %98 = load i64, ptr %10, align 8
  br label %103

99:
  %100 = load i64, ptr %16, align 8
  %101 = load i64, ptr %18, align 8
  %102 = sub nsw i64 %100, %101
  br label %103

103:
  %104 = phi i64 [ %98, %97 ], [ %102, %99 ]
  store i64 %104, ptr %17, align 8
  store i64 0, ptr %19, align 8
  br label %105

105:
  %106 = load i64, ptr %19, align 8
  %107 = load i64, ptr @OPERANDS, align 8
  %108 = icmp slt i64 %106, %107
  br i1 %108, label %109, label %171

109:
  %110 = load ptr, ptr %8, align 8
  %111 = load i64, ptr %19, align 8
  %112 = getelementptr inbounds %struct.Layout, ptr %110, i64 %111
  %113 = getelementptr inbounds %struct.Layout, ptr %112, i32 0, i32 0
  %114 = load i64, ptr %113, align 8
  store i64 %114, ptr %20, align 8
  %115 = load i64, ptr %7, align 8
  %116 = load ptr, ptr %8, align 8
  %117 = load i64, ptr %19, align 8
  %118 = getelementptr inbounds %struct.Layout, ptr %116, i64 %117
  %119 = getelementptr inbounds %struct.Layout, ptr %118, i32 0, i32 1
  %120 = load i64, ptr %119, align 8
  %121 = mul nsw i64 %115, %120
  store i64 %121, ptr %21, align 8
  %122 = load ptr, ptr %9, align 8
  %123 = load i64, ptr %19, align 8
  %124 = getelementptr inbounds ptr, ptr %122, i64 %123
  %125 = load ptr, ptr %124, align 8
  %126 = load i64, ptr %18, align 8
  %127 = load i64, ptr %20, align 8
  %128 = mul nsw i64 %126, %127
  %129 = getelementptr inbounds i8, ptr %125, i64 %128
  store ptr %129, ptr %22, align 8
  %130 = load i64, ptr %17, align 8
  %131 = icmp eq i64 %130, 1
  br i1 %131, label %136, label %132

132:
  %133 = load i64, ptr %20, align 8
  %134 = load i64, ptr %21, align 8
  %135 = icmp eq i64 %133, %134
  br label %136

136:
  %137 = phi i1 [ true, %109 ], [ %135, %132 ]
  %138 = zext i1 %137 to i32
  %139 = sext i32 %138 to i64
  store i64 %139, ptr %23, align 8
  %140 = load i64, ptr %23, align 8
  %141 = icmp ne i64 %140, 0
  br i1 %141, label %142, label %144

142:
  %143 = load ptr, ptr %22, align 8
  br label %148

144:
  %145 = load i64, ptr %19, align 8
  %146 = getelementptr inbounds [512 x i64], ptr %31, i64 %145
  %147 = getelementptr inbounds [512 x i64], ptr %146, i64 0, i64 0
  br label %148

148:
  %149 = phi ptr [ %143, %142 ], [ %147, %144 ]
  %150 = load i64, ptr %19, align 8
  %151 = getelementptr inbounds ptr, ptr %29, i64 %150
  store ptr %149, ptr %151, align 8
  %152 = load i64, ptr %23, align 8
  %153 = icmp ne i64 %152, 0
  br i1 %153, label %167, label %154

154:
  %155 = load i64, ptr %19, align 8
  %156 = load i64, ptr @RESULTS, align 8
  %157 = icmp sge i64 %155, %156
  br i1 %157, label %158, label %167

158:
  %159 = load ptr, ptr %22, align 8
  %160 = load i64, ptr %20, align 8
  %161 = load i64, ptr %19, align 8
  %162 = getelementptr inbounds ptr, ptr %29, i64 %161
  %163 = load ptr, ptr %162, align 8
  %164 = load i64, ptr %21, align 8
  %165 = load i64, ptr %21, align 8
  %166 = load i64, ptr %17, align 8
  call void @copy_rows(ptr noundef %159, i64 noundef %160, ptr noundef %163, i64 noundef %164, i64 noundef %165, i64 noundef %166)
  br label %167

167:
  br label %168

168:
  %169 = load i64, ptr %19, align 8
  %170 = add nsw i64 %169, 1
  store i64 %170, ptr %19, align 8
  br label %105

171:
  %172 = load ptr, ptr %2, align 8
  %173 = getelementptr inbounds %struct.Chunks, ptr %172, i32 0, i32 4
  %174 = load ptr, ptr %173, align 8
  %175 = load ptr, ptr %2, align 8
  %176 = getelementptr inbounds %struct.Chunks, ptr %175, i32 0, i32 5
  %177 = load ptr, ptr %176, align 8
  %178 = load i64, ptr %17, align 8
  %179 = load i64, ptr %7, align 8
  %180 = mul nsw i64 %178, %179
  %181 = load i64, ptr @OPERANDS, align 8
  call void @call(ptr noundef %174, ptr noundef %29, ptr noundef %177, i64 noundef %180, i64 noundef %181)
  store i64 0, ptr %24, align 8
  br label %182

182:
  %183 = load i64, ptr %24, align 8
  %184 = load i64, ptr @RESULTS, align 8
  %185 = icmp slt i64 %183, %184
  br i1 %185, label %186, label %226

186:
  %187 = load ptr, ptr %8, align 8
  %188 = load i64, ptr %24, align 8
  %189 = getelementptr inbounds %struct.Layout, ptr %187, i64 %188
  %190 = getelementptr inbounds %struct.Layout, ptr %189, i32 0, i32 0
  %191 = load i64, ptr %190, align 8
  store i64 %191, ptr %25, align 8
  %192 = load i64, ptr %7, align 8
  %193 = load ptr, ptr %8, align 8
  %194 = load i64, ptr %24, align 8
  %195 = getelementptr inbounds %struct.Layout, ptr %193, i64 %194
  %196 = getelementptr inbounds %struct.Layout, ptr %195, i32 0, i32 1
  %197 = load i64, ptr %196, align 8
  %198 = mul nsw i64 %192, %197
  store i64 %198, ptr %26, align 8
  %199 = load i64, ptr %24, align 8
  %200 = getelementptr inbounds ptr, ptr %29, i64 %199
  %201 = load ptr, ptr %200, align 8
  %202 = load i64, ptr %24, align 8
  %203 = getelementptr inbounds [512 x i64], ptr %31, i64 %202
  %204 = getelementptr inbounds [512 x i64], ptr %203, i64 0, i64 0
  %205 = icmp eq ptr %201, %204
  br i1 %205, label %206, label %222

206:
  %207 = load i64, ptr %24, align 8
  %208 = getelementptr inbounds ptr, ptr %29, i64 %207
  %209 = load ptr, ptr %208, align 8
  %210 = load i64, ptr %26, align 8
  %211 = load ptr, ptr %9, align 8
  %212 = load i64, ptr %24, align 8
  %213 = getelementptr inbounds ptr, ptr %211, i64 %212
  %214 = load ptr, ptr %213, align 8
  %215 = load i64, ptr %18, align 8
  %216 = load i64, ptr %25, align 8
  %217 = mul nsw i64 %215, %216
  %218 = getelementptr inbounds i8, ptr %214, i64 %217
  %219 = load i64, ptr %25, align 8
  %220 = load i64, ptr %26, align 8
  %221 = load i64, ptr %17, align 8
  call void @copy_rows(ptr noundef %209, i64 noundef %210, ptr noundef %218, i64 noundef %219, i64 noundef %220, i64 noundef %221)
  br label %222

222:
  br label %223

223:
  %224 = load i64, ptr %24, align 8
  %225 = add nsw i64 %224, 1
  store i64 %225, ptr %24, align 8
  br label %182

226:
  br label %227

227:
  %228 = load i64, ptr %17, align 8
  %229 = load i64, ptr %18, align 8
  %230 = add nsw i64 %229, %228
  store i64 %230, ptr %18, align 8
  br label %87

231:
  %232 = load i64, ptr %16, align 8
  %233 = load i64, ptr %12, align 8
  %234 = sub nsw i64 %232, %233
  %235 = load i64, ptr %13, align 8
  %236 = add nsw i64 %235, %234
  store i64 %236, ptr %13, align 8
  br label %51

237:
  %238 = load i64, ptr %11, align 8
  call void @set_mode(i64 noundef %238)
  %239 = load i64, ptr %13, align 8
  %240 = load ptr, ptr %3, align 8
  call void @llvm.stackrestore(ptr %240)
  ret i64 %239
}

declare ptr @llvm.stacksave() nounwind

define internal i64 @allow_subnormals() alwaysinline nounwind {
  %1 = alloca i64, align 8
  %2 = call i64 @get_mode()
  store i64 %2, ptr %1, align 8
  %3 = load i64, ptr %1, align 8
  %4 = load i64, ptr @FLUSH, align 8
  %5 = xor i64 %4, -1
  %6 = and i64 %3, %5
  call void @set_mode(i64 noundef %6)
  %7 = load i64, ptr %1, align 8
  ret i64 %7
}

define internal void @copy_rows(ptr noundef %0, i64 noundef %1, ptr noundef %2, i64 noundef %3, i64 noundef %4, i64 noundef %5) alwaysinline nounwind {
  %7 = alloca ptr, align 8
  %8 = alloca i64, align 8
  %9 = alloca ptr, align 8
  %10 = alloca i64, align 8
  %11 = alloca i64, align 8
  %12 = alloca i64, align 8
  %13 = alloca i64, align 8
  %14 = alloca i64, align 8
  %15 = alloca i64, align 8
  store ptr %0, ptr %7, align 8
  store i64 %1, ptr %8, align 8
  store ptr %2, ptr %9, align 8
  store i64 %3, ptr %10, align 8
  store i64 %4, ptr %11, align 8
  store i64 %5, ptr %12, align 8
  %16 = load i64, ptr %11, align 8
  %17 = icmp sgt i64 %16, 24
  br i1 %17, label %18, label %40

18:
  store i64 0, ptr %13, align 8
  br label %19

19:
  %20 = load i64, ptr %13, align 8
  %21 = load i64, ptr %12, align 8
  %22 = icmp slt i64 %20, %21
  br i1 %22, label %23, label %39

23:
  %24 = load ptr, ptr %9, align 8
  %25 = load i64, ptr %13, align 8
  %26 = load i64, ptr %10, align 8
  %27 = mul nsw i64 %25, %26
  %28 = getelementptr inbounds i8, ptr %24, i64 %27
  %29 = load ptr, ptr %7, align 8
  %30 = load i64, ptr %13, align 8
  %31 = load i64, ptr %8, align 8
  %32 = mul nsw i64 %30, %31
  %33 = getelementptr inbounds i8, ptr %29, i64 %32
  %34 = load i64, ptr %11, align 8
  %35 = call ptr @memcpy(ptr noundef %28, ptr noundef %33, i64 noundef %34)
  br label %36

36:
  %37 = load i64, ptr %13, align 8
  %38 = add nsw i64 %37, 1
  store i64 %38, ptr %13, align 8
  br label %19

39:
  br label %75

40:
  store i64 1, ptr %14, align 8
  br label %41

41:
  %42 = load i64, ptr %14, align 8
  %43 = icmp slt i64 %42, 8
  br i1 %43, label %44, label %50

44:
  %45 = load i64, ptr %11, align 8
  %46 = load i64, ptr %14, align 8
  %47 = mul nsw i64 2, %46
  %48 = srem i64 %45, %47
  %49 = icmp eq i64 %48, 0
  br label %50

50:
  %51 = phi i1 [ false, %41 ], [ %49, %44 ]
  br i1 %51, label %52, label %55

52:
  %53 = load i64, ptr %14, align 8
  %54 = mul nsw i64 %53, 2
  store i64 %54, ptr %14, align 8
  br label %41

55:
  store i64 0, ptr %15, align 8
  br label %56

56:
  %57 = load i64, ptr %15, align 8
  %58 = load i64, ptr %11, align 8
  %59 = icmp slt i64 %57, %58
  br i1 %59, label %60, label %75

60:
  %61 = load ptr, ptr %7, align 8
  %62 = load i64, ptr %15, align 8
  %63 = getelementptr inbounds i8, ptr %61, i64 %62
  %64 = load i64, ptr %8, align 8
  %65 = load ptr, ptr %9, align 8
  %66 = load i64, ptr %15, align 8
  %67 = getelementptr inbounds i8, ptr %65, i64 %66
  %68 = load i64, ptr %10, align 8
  %69 = load i64, ptr %14, align 8
  %70 = load i64, ptr %12, align 8
  call void @copy(ptr noundef %63, i64 noundef %64, ptr noundef %67, i64 noundef %68, i64 noundef %69, i64 noundef %70)
  br label %71

71:
  %72 = load i64, ptr %14, align 8
  %73 = load i64, ptr %15, align 8
  %74 = add nsw i64 %73, %72
  store i64 %74, ptr %15, align 8
  br label %56

75:
  ret void
}

declare void @call(ptr noundef, ptr noundef, ptr noundef, i64 noundef, i64 noundef)

declare void @set_mode(i64 noundef)

declare void @llvm.stackrestore(ptr) nounwind

define void @run_on_thread(ptr noundef %0, ptr noundef %1, ptr noundef %2, i64 noundef %3) nounwind {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca i64, align 8
  %9 = alloca i64, align 8
  %10 = alloca i64, align 8
  %11 = alloca i64, align 8
  %12 = alloca i64, align 8
  %13 = alloca i64, align 8
  %14 = alloca i64, align 8
  %15 = alloca i64, align 8
  %16 = alloca i64, align 8
  %17 = alloca i64, align 8
  %18 = alloca i64, align 8
  %19 = alloca i64, align 8
  %20 = alloca i64, align 8
  %21 = alloca i64, align 8
  store ptr %0, ptr %5, align 8
  store ptr %1, ptr %6, align 8
  store ptr %2, ptr %7, align 8
  store i64 %3, ptr %8, align 8
  store i64 4294967296, ptr %9, align 8
  %22 = load i64, ptr %8, align 8
  %23 = icmp ne i64 %22, 0
  br i1 %23, label %24, label %53

24:
  %25 = load ptr, ptr %5, align 8
  store i64 4294967296, ptr %10, align 8
  %26 = load i64, ptr %10, align 8
  %27 = atomicrmw add ptr %25, i64 %26 seq_cst, align 8
  store i64 %27, ptr %11, align 8
  %28 = load i64, ptr %11, align 8
  %29 = load ptr, ptr %6, align 8
  %30 = load ptr, ptr %7, align 8
  call void %29(ptr noundef %30)
  %31 = load ptr, ptr %5, align 8
  store i64 4294967296, ptr %12, align 8
  %32 = load i64, ptr %12, align 8
  %33 = atomicrmw add ptr %31, i64 %32 seq_cst, align 8
  store i64 %33, ptr %13, align 8
  %34 = load i64, ptr %13, align 8
  store i64 0, ptr %14, align 8
  br label %35

35:
  %36 = load ptr, ptr %5, align 8
  %37 = load atomic i64, ptr %36 seq_cst, align 8
  store i64 %37, ptr %15, align 8
  %38 = load i64, ptr %15, align 8
  %39 = and i64 %38, 4294967295
  %40 = icmp ne i64 %39, 0
  br i1 %40, label %41, label %52

41:
  %42 = load i64, ptr %14, align 8
  %43 = icmp sge i64 %42, 32768
  br i1 %43, label %44, label %48

44:
  %45 = load i64, ptr @DURATION, align 8
  %46 = trunc i64 %45 to i32
  %47 = call i32 @sleep_for(i32 noundef %46)
  br label %48

48:
  br label %49

49:
  %50 = load i64, ptr %14, align 8
  %51 = add nsw i64 %50, 1
  store i64 %51, ptr %14, align 8
  br label %35

52:
  br label %82

53:
  store i64 0, ptr %16, align 8
  br label %54

54:
  %55 = load ptr, ptr %5, align 8
  store i64 1, ptr %18, align 8
  %56 = load i64, ptr %18, align 8
  %57 = atomicrmw add ptr %55, i64 %56 seq_cst, align 8
  store i64 %57, ptr %19, align 8
  %58 = load i64, ptr %19, align 8
  %59 = lshr i64 %58, 32
  store i64 %59, ptr %17, align 8
  %60 = load i64, ptr %17, align 8
  %61 = icmp eq i64 %60, 1
  br i1 %61, label %62, label %65

62:
  %63 = load ptr, ptr %6, align 8
  %64 = load ptr, ptr %7, align 8
  call void %63(ptr noundef %64)
  br label %65

65:
  %66 = load ptr, ptr %5, align 8
  store i64 1, ptr %20, align 8
  %67 = load i64, ptr %20, align 8
  %68 = atomicrmw sub ptr %66, i64 %67 seq_cst, align 8
  store i64 %68, ptr %21, align 8
  %69 = load i64, ptr %21, align 8
  %70 = load i64, ptr %17, align 8
  %71 = icmp ne i64 %70, 0
  br i1 %71, label %76, label %72

72:
  %73 = load i64, ptr %16, align 8
  %74 = add nsw i64 %73, 1
  store i64 %74, ptr %16, align 8
  %75 = icmp eq i64 %74, 20
  br i1 %75, label %76, label %77

76:
  br label %82

77:
  br label %78

78:
  %79 = load i64, ptr @DURATION, align 8
  %80 = trunc i64 %79 to i32
  %81 = call i32 @sleep_for(i32 noundef %80)
  br label %54

82:
  ret void
}

declare i32 @sleep_for(i32 noundef)

define void @xla_stubs(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = getelementptr inbounds ptr, ptr %3, i64 0
  store ptr getelementptr inbounds ([64 x ptr], ptr @stubs, i64 0, i64 0), ptr %4, align 8
  %5 = load ptr, ptr %2, align 8
  %6 = getelementptr inbounds ptr, ptr %5, i64 1
  store ptr getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 0), ptr %6, align 8
  ret void
}

define i64 @tf_create(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  %5 = alloca i64, align 8
  store ptr %0, ptr %2, align 8
  %6 = call ptr @TF_NewStatus()
  store ptr %6, ptr %3, align 8
  store i64 0, ptr %4, align 8
  store i64 0, ptr %5, align 8
  %7 = load ptr, ptr %2, align 8
  %8 = load ptr, ptr %3, align 8
  call void @TF_OpKernelConstruction_GetAttrInt64(ptr noundef %7, ptr noundef getelementptr inbounds ([7 x i8], ptr @.str, i64 0, i64 0), ptr noundef %4, ptr noundef %8)
  %9 = load ptr, ptr %2, align 8
  %10 = load ptr, ptr %3, align 8
  call void @TF_OpKernelConstruction_GetAttrInt64(ptr noundef %9, ptr noundef getelementptr inbounds ([8 x i8], ptr @.str.1, i64 0, i64 0), ptr noundef %5, ptr noundef %10)
  %11 = load i64, ptr %5, align 8
  %12 = load i64, ptr @PROCESS, align 8
  %13 = icmp ne i64 %11, %12
  br i1 %13, label %14, label %18

14:
  %15 = load ptr, ptr %3, align 8
  call void @TF_SetStatus(ptr noundef %15, i32 noundef 3, ptr noundef getelementptr inbounds ([81 x i8], ptr @.str.2, i64 0, i64 0))
  %16 = load ptr, ptr %2, align 8
  %17 = load ptr, ptr %3, align 8
  call void @TF_OpKernelConstruction_Failure(ptr noundef %16, ptr noundef %17)
  br label %18

18:
  %19 = load ptr, ptr %3, align 8
  call void @TF_DeleteStatus(ptr noundef %19)
  %20 = load i64, ptr %4, align 8
  ret i64 %20
}

declare ptr @TF_NewStatus()

declare void @TF_OpKernelConstruction_GetAttrInt64(ptr noundef, ptr noundef, ptr noundef, ptr noundef)

declare void @TF_SetStatus(ptr noundef, i32 noundef, ptr noundef)

declare void @TF_OpKernelConstruction_Failure(ptr noundef, ptr noundef)

declare void @TF_DeleteStatus(ptr noundef)

define void @tf_shape(ptr noundef %0, ptr noundef %1) nounwind {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i32, align 4
  store ptr %0, ptr %3, align 8
  store ptr %1, ptr %4, align 8
  %7 = call ptr @TF_NewShapeHandle()
  store ptr %7, ptr %5, align 8
  %8 = load ptr, ptr %3, align 8
  %9 = load ptr, ptr %5, align 8
  %10 = load ptr, ptr %4, align 8
  call void @TF_ShapeInferenceContextGetInput(ptr noundef %8, i32 noundef 0, ptr noundef %9, ptr noundef %10)
  store i32 0, ptr %6, align 4
  br label %11

11:
  %12 = load i32, ptr %6, align 4
  %13 = sext i32 %12 to i64
  %14 = load i64, ptr @RESULTS, align 8
  %15 = icmp slt i64 %13, %14
  br i1 %15, label %16, label %24

16:
  %17 = load ptr, ptr %3, align 8
  %18 = load i32, ptr %6, align 4
  %19 = load ptr, ptr %5, align 8
  %20 = load ptr, ptr %4, align 8
  call void @TF_ShapeInferenceContextSetOutput(ptr noundef %17, i32 noundef %18, ptr noundef %19, ptr noundef %20)
  br label %21

21:
  %22 = load i32, ptr %6, align 4
  %23 = add nsw i32 %22, 1
  store i32 %23, ptr %6, align 4
  br label %11

24:
  %25 = load ptr, ptr %5, align 8
  call void @TF_DeleteShapeHandle(ptr noundef %25)
  ret void
}

declare ptr @TF_NewShapeHandle()

declare void @TF_ShapeInferenceContextGetInput(ptr noundef, i32 noundef, ptr noundef, ptr noundef)

declare void @TF_ShapeInferenceContextSetOutput(ptr noundef, i32 noundef, ptr noundef, ptr noundef)

declare void @TF_DeleteShapeHandle(ptr noundef)

define void @tf_compute(ptr noundef %0, ptr noundef %1) nounwind {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  %5 = alloca i64, align 8
  %6 = alloca [8 x ptr], align 8
  %7 = alloca ptr, align 8
  %8 = alloca i64, align 8
  %9 = alloca i64, align 8
  %10 = alloca i64, align 8
  %11 = alloca i64, align 8
  %12 = alloca i64, align 8
  %13 = alloca %struct.TfJob, align 8
  %14 = alloca i64, align 8
  %15 = alloca i64, align 8
  %16 = alloca i64, align 8
  store ptr %0, ptr %3, align 8
  store ptr %1, ptr %4, align 8
  %17 = load ptr, ptr %3, align 8
  %18 = getelementptr inbounds %struct.TfKernel, ptr %17, i32 0, i32 3
  %19 = load i64, ptr %18, align 8
  %20 = load ptr, ptr %3, align 8
  %21 = getelementptr inbounds %struct.TfKernel, ptr %20, i32 0, i32 4
  %22 = load i64, ptr %21, align 8
  %23 = add nsw i64 %19, %22
  store i64 %23, ptr %5, align 8
  call void @llvm.memset.p0.i64(ptr align 8 %6, i8 0, i64 64, i1 false)
  %24 = call ptr @TF_NewStatus()
  store ptr %24, ptr %7, align 8
  %25 = load ptr, ptr %3, align 8
  %26 = load ptr, ptr %4, align 8
  %27 = getelementptr inbounds [8 x ptr], ptr %6, i64 0, i64 0
  %28 = load ptr, ptr %7, align 8
  %29 = call i64 @tf_open(ptr noundef %25, ptr noundef %26, ptr noundef %27, ptr noundef %28)
  store i64 %29, ptr %8, align 8
  %30 = load ptr, ptr %7, align 8
  %31 = call i32 @TF_GetCode(ptr noundef %30)
  %32 = icmp ne i32 %31, 0
  br i1 %32, label %33, label %36

33:
  %34 = load ptr, ptr %4, align 8
  %35 = load ptr, ptr %7, align 8
  call void @TF_OpKernelContext_Failure(ptr noundef %34, ptr noundef %35)
  br label %126

36:
  %37 = load i64, ptr %8, align 8
  %38 = icmp ne i64 %37, 0
  br i1 %38, label %39, label %125

39:
  %40 = load i64, ptr %8, align 8
  %41 = load ptr, ptr %3, align 8
  %42 = getelementptr inbounds %struct.TfKernel, ptr %41, i32 0, i32 5
  %43 = load i64, ptr %42, align 8
  %44 = sdiv i64 %40, %43
  store i64 %44, ptr %9, align 8
  store i64 1, ptr %10, align 8
  %45 = load i64, ptr %9, align 8
  store i64 %45, ptr %11, align 8
  %46 = load i64, ptr @POOL, align 8
  %47 = icmp ne i64 %46, 0
  br i1 %47, label %48, label %71

48:
  %49 = load i64, ptr %8, align 8
  %50 = load i64, ptr %5, align 8
  %51 = mul nsw i64 %49, %50
  %52 = load i64, ptr @MIN_BYTES, align 8
  %53 = sdiv i64 %51, %52
  store i64 %53, ptr %12, align 8
  %54 = load i64, ptr @POOL, align 8
  %55 = inttoptr i64 %54 to ptr
  %56 = getelementptr inbounds %struct.Worker, ptr %55, i32 0, i32 0
  %57 = load i64, ptr %56, align 8
  %58 = add nsw i64 %57, 1
  %59 = load i64, ptr %12, align 8
  %60 = icmp slt i64 %58, %59
  br i1 %60, label %61, label %67

61:
  %62 = load i64, ptr @POOL, align 8
  %63 = inttoptr i64 %62 to ptr
  %64 = getelementptr inbounds %struct.Worker, ptr %63, i32 0, i32 0
  %65 = load i64, ptr %64, align 8
  %66 = add nsw i64 %65, 1
  br label %69

67:
  %68 = load i64, ptr %12, align 8
  br label %69

69:
  %70 = phi i64 [ %66, %61 ], [ %68, %67 ]
  store i64 %70, ptr %10, align 8
  br label %71

71:
  %72 = load i64, ptr %10, align 8
  %73 = icmp sgt i64 %72, 1
  br i1 %73, label %74, label %81

74:
  %75 = load i64, ptr %9, align 8
  %76 = load i64, ptr %10, align 8
  %77 = mul nsw i64 %76, 4
  %78 = sdiv i64 %75, %77
  %79 = add nsw i64 %78, 64
  %80 = and i64 %79, -64
  store i64 %80, ptr %11, align 8
  br label %81

81:
  %82 = getelementptr inbounds %struct.TfJob, ptr %13, i32 0, i32 0
  %83 = load ptr, ptr %3, align 8
  %84 = getelementptr inbounds %struct.TfKernel, ptr %83, i32 0, i32 2
  %85 = load ptr, ptr %84, align 8
  store ptr %85, ptr %82, align 8
  %86 = getelementptr inbounds %struct.TfJob, ptr %13, i32 0, i32 1
  %87 = getelementptr inbounds %struct.Chunks, ptr %86, i32 0, i32 0
  store i64 0, ptr %87, align 8
  %88 = getelementptr inbounds %struct.Chunks, ptr %86, i32 0, i32 1
  %89 = load i64, ptr %9, align 8
  store i64 %89, ptr %88, align 8
  %90 = getelementptr inbounds %struct.Chunks, ptr %86, i32 0, i32 2
  %91 = load i64, ptr %11, align 8
  store i64 %91, ptr %90, align 8
  %92 = getelementptr inbounds %struct.Chunks, ptr %86, i32 0, i32 3
  %93 = load ptr, ptr %3, align 8
  %94 = getelementptr inbounds %struct.TfKernel, ptr %93, i32 0, i32 5
  %95 = load i64, ptr %94, align 8
  store i64 %95, ptr %92, align 8
  %96 = getelementptr inbounds %struct.Chunks, ptr %86, i32 0, i32 4
  %97 = load ptr, ptr %3, align 8
  %98 = getelementptr inbounds %struct.TfKernel, ptr %97, i32 0, i32 0
  %99 = load ptr, ptr %98, align 8
  store ptr %99, ptr %96, align 8
  %100 = getelementptr inbounds %struct.Chunks, ptr %86, i32 0, i32 5
  %101 = load ptr, ptr %3, align 8
  %102 = getelementptr inbounds %struct.TfKernel, ptr %101, i32 0, i32 1
  %103 = load ptr, ptr %102, align 8
  store ptr %103, ptr %100, align 8
  %104 = getelementptr inbounds %struct.TfJob, ptr %13, i32 0, i32 2
  call void @llvm.memset.p0.i64(ptr align 8 %104, i8 0, i64 64, i1 false)
  %105 = getelementptr inbounds [8 x ptr], ptr %104, i64 0, i64 0
  store i64 0, ptr %14, align 8
  br label %106

106:
  %107 = load i64, ptr %14, align 8
  %108 = load i64, ptr %5, align 8
  %109 = icmp slt i64 %107, %108
  br i1 %109, label %110, label %121

110:
  %111 = load i64, ptr %14, align 8
  %112 = getelementptr inbounds [8 x ptr], ptr %6, i64 0, i64 %111
  %113 = load ptr, ptr %112, align 8
  %114 = call ptr @TF_TensorData(ptr noundef %113)
  %115 = getelementptr inbounds %struct.TfJob, ptr %13, i32 0, i32 2
  %116 = load i64, ptr %14, align 8
  %117 = getelementptr inbounds [8 x ptr], ptr %115, i64 0, i64 %116
  store ptr %114, ptr %117, align 8
  br label %118

118:
  %119 = load i64, ptr %14, align 8
  %120 = add nsw i64 %119, 1
  store i64 %120, ptr %14, align 8
  br label %106

121:
  %122 = call i64 @allow_subnormals()
  store i64 %122, ptr %15, align 8
  %123 = load i64, ptr %10, align 8
  call void @tf_run(ptr noundef %13, i64 noundef %123)
  %124 = load i64, ptr %15, align 8
  call void @set_mode(i64 noundef %124)
  br label %125

125:
  br label %126

126:
  store i64 0, ptr %16, align 8
  br label %127

127:
  %128 = load i64, ptr %16, align 8
  %129 = load i64, ptr %5, align 8
  %130 = icmp slt i64 %128, %129
  br i1 %130, label %131, label %144

131:
  %132 = load i64, ptr %16, align 8
  %133 = getelementptr inbounds [8 x ptr], ptr %6, i64 0, i64 %132
  %134 = load ptr, ptr %133, align 8
  %135 = icmp ne ptr %134, null
  br i1 %135, label %136, label %140

136:
  %137 = load i64, ptr %16, align 8
  %138 = getelementptr inbounds [8 x ptr], ptr %6, i64 0, i64 %137
  %139 = load ptr, ptr %138, align 8
  call void @TF_DeleteTensor(ptr noundef %139)
  br label %140

140:
  br label %141

141:
  %142 = load i64, ptr %16, align 8
  %143 = add nsw i64 %142, 1
  store i64 %143, ptr %16, align 8
  br label %127

144:
  %145 = load ptr, ptr %7, align 8
  call void @TF_DeleteStatus(ptr noundef %145)
  ret void
}

declare void @llvm.memset.p0.i64(ptr nocapture writeonly, i8, i64, i1 immarg) nounwind

define internal i64 @tf_open(ptr noundef %0, ptr noundef %1, ptr noundef %2, ptr noundef %3) nounwind {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca i64, align 8
  %11 = alloca [254 x i64], align 8
  %12 = alloca i32, align 4
  %13 = alloca i32, align 4
  %14 = alloca i64, align 8
  %15 = alloca i64, align 8
  %16 = alloca i64, align 8
  store ptr %0, ptr %5, align 8
  store ptr %1, ptr %6, align 8
  store ptr %2, ptr %7, align 8
  store ptr %3, ptr %8, align 8
  %17 = load ptr, ptr %7, align 8
  %18 = load ptr, ptr %5, align 8
  %19 = getelementptr inbounds %struct.TfKernel, ptr %18, i32 0, i32 4
  %20 = load i64, ptr %19, align 8
  %21 = getelementptr inbounds ptr, ptr %17, i64 %20
  store ptr %21, ptr %9, align 8
  store i64 0, ptr %10, align 8
  br label %22

22:
  %23 = load i64, ptr %10, align 8
  %24 = load ptr, ptr %5, align 8
  %25 = getelementptr inbounds %struct.TfKernel, ptr %24, i32 0, i32 3
  %26 = load i64, ptr %25, align 8
  %27 = icmp slt i64 %23, %26
  br i1 %27, label %28, label %39

28:
  %29 = load ptr, ptr %6, align 8
  %30 = load i64, ptr %10, align 8
  %31 = trunc i64 %30 to i32
  %32 = load ptr, ptr %9, align 8
  %33 = load i64, ptr %10, align 8
  %34 = getelementptr inbounds ptr, ptr %32, i64 %33
  %35 = load ptr, ptr %8, align 8
  call void @TF_GetInput(ptr noundef %29, i32 noundef %31, ptr noundef %34, ptr noundef %35)
  br label %36

36:
  %37 = load i64, ptr %10, align 8
  %38 = add nsw i64 %37, 1
  store i64 %38, ptr %10, align 8
  br label %22

39:
  %40 = load ptr, ptr %9, align 8
  %41 = getelementptr inbounds ptr, ptr %40, i64 0
  %42 = load ptr, ptr %41, align 8
  %43 = call i32 @TF_NumDims(ptr noundef %42)
  store i32 %43, ptr %12, align 4
  store i32 0, ptr %13, align 4
  br label %44

44:
  %45 = load i32, ptr %13, align 4
  %46 = load i32, ptr %12, align 4
  %47 = icmp slt i32 %45, %46
  br i1 %47, label %48, label %60

48:
  %49 = load ptr, ptr %9, align 8
  %50 = getelementptr inbounds ptr, ptr %49, i64 0
  %51 = load ptr, ptr %50, align 8
  %52 = load i32, ptr %13, align 4
  %53 = call i64 @TF_Dim(ptr noundef %51, i32 noundef %52)
  %54 = load i32, ptr %13, align 4
  %55 = sext i32 %54 to i64
  %56 = getelementptr inbounds [254 x i64], ptr %11, i64 0, i64 %55
  store i64 %53, ptr %56, align 8
  br label %57

57:
  %58 = load i32, ptr %13, align 4
  %59 = add nsw i32 %58, 1
  store i32 %59, ptr %13, align 4
  br label %44

60:
  %61 = load ptr, ptr %9, align 8
  %62 = getelementptr inbounds ptr, ptr %61, i64 0
  %63 = load ptr, ptr %62, align 8
  %64 = call i64 @TF_TensorByteSize(ptr noundef %63)
  store i64 %64, ptr %14, align 8
  store i64 0, ptr %15, align 8
  br label %65

65:
  %66 = load i64, ptr %15, align 8
  %67 = load ptr, ptr %5, align 8
  %68 = getelementptr inbounds %struct.TfKernel, ptr %67, i32 0, i32 4
  %69 = load i64, ptr %68, align 8
  %70 = icmp slt i64 %66, %69
  br i1 %70, label %71, label %90

71:
  %72 = load ptr, ptr %6, align 8
  %73 = load i64, ptr %15, align 8
  %74 = trunc i64 %73 to i32
  %75 = load ptr, ptr %5, align 8
  %76 = getelementptr inbounds %struct.TfKernel, ptr %75, i32 0, i32 6
  %77 = load i64, ptr %76, align 8
  %78 = trunc i64 %77 to i32
  %79 = getelementptr inbounds [254 x i64], ptr %11, i64 0, i64 0
  %80 = load i32, ptr %12, align 4
  %81 = load i64, ptr %14, align 8
  %82 = load ptr, ptr %8, align 8
  %83 = call ptr @TF_AllocateOutput(ptr noundef %72, i32 noundef %74, i32 noundef %78, ptr noundef %79, i32 noundef %80, i64 noundef %81, ptr noundef %82)
  %84 = load ptr, ptr %7, align 8
  %85 = load i64, ptr %15, align 8
  %86 = getelementptr inbounds ptr, ptr %84, i64 %85
  store ptr %83, ptr %86, align 8
  br label %87

87:
  %88 = load i64, ptr %15, align 8
  %89 = add nsw i64 %88, 1
  store i64 %89, ptr %15, align 8
  br label %65

90:
  store i64 0, ptr %16, align 8
  br label %91

91:
  %92 = load i64, ptr %16, align 8
  %93 = load ptr, ptr %5, align 8
  %94 = getelementptr inbounds %struct.TfKernel, ptr %93, i32 0, i32 3
  %95 = load i64, ptr %94, align 8
  %96 = icmp slt i64 %92, %95
  br i1 %96, label %97, label %111

97:
  %98 = load ptr, ptr %9, align 8
  %99 = load i64, ptr %16, align 8
  %100 = getelementptr inbounds ptr, ptr %98, i64 %99
  %101 = load ptr, ptr %100, align 8
  %102 = call i64 @TF_TensorByteSize(ptr noundef %101)
  %103 = load i64, ptr %14, align 8
  %104 = icmp ne i64 %102, %103
  br i1 %104, label %105, label %107

105:
  %106 = load ptr, ptr %8, align 8
  call void @TF_SetStatus(ptr noundef %106, i32 noundef 3, ptr noundef getelementptr inbounds ([55 x i8], ptr @.str.4, i64 0, i64 0))
  br label %107

107:
  br label %108

108:
  %109 = load i64, ptr %16, align 8
  %110 = add nsw i64 %109, 1
  store i64 %110, ptr %16, align 8
  br label %91

111:
  %112 = load i64, ptr %14, align 8
  ret i64 %112
}

declare i32 @TF_GetCode(ptr noundef)

declare void @TF_OpKernelContext_Failure(ptr noundef, ptr noundef)

declare ptr @TF_TensorData(ptr noundef)

define internal void @tf_run(ptr noundef %0, i64 noundef %1) nounwind {
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i64, align 8
  %7 = alloca i64, align 8
  %8 = alloca i64, align 8
  %9 = alloca i64, align 8
  %10 = alloca i64, align 8
  %11 = alloca i64, align 8
  store ptr %0, ptr %3, align 8
  store i64 %1, ptr %4, align 8
  %12 = load i64, ptr @POOL, align 8
  %13 = inttoptr i64 %12 to ptr
  store ptr %13, ptr %5, align 8
  %14 = load ptr, ptr %3, align 8
  %15 = ptrtoint ptr %14 to i64
  store i64 %15, ptr %6, align 8
  %16 = load i64, ptr %4, align 8
  %17 = icmp sgt i64 %16, 1
  br i1 %17, label %18, label %22

18:
  %19 = load ptr, ptr %5, align 8
  %20 = getelementptr inbounds %struct.Worker, ptr %19, i32 0, i32 0
  %21 = load i64, ptr %20, align 8
  br label %23

22:
  br label %23

23:
  %24 = phi i64 [ %21, %18 ], [ 0, %22 ]
  store i64 %24, ptr %7, align 8
  %25 = load i64, ptr %4, align 8
  %26 = sub nsw i64 %25, 1
  store i64 %26, ptr %8, align 8
  store i64 1, ptr %9, align 8
  br label %27

27:
  %28 = load i64, ptr %9, align 8
  %29 = load i64, ptr %7, align 8
  %30 = icmp sle i64 %28, %29
  br i1 %30, label %31, label %34

31:
  %32 = load i64, ptr %8, align 8
  %33 = icmp sgt i64 %32, 0
  br label %34

34:
  %35 = phi i1 [ false, %27 ], [ %33, %31 ]
  br i1 %35, label %36, label %57

36:
  %37 = load ptr, ptr %5, align 8
  %38 = load i64, ptr %9, align 8
  %39 = getelementptr inbounds %struct.Worker, ptr %37, i64 %38
  %40 = getelementptr inbounds %struct.Worker, ptr %39, i32 0, i32 0
  %41 = load i64, ptr %6, align 8
  %42 = call i32 @exchange(ptr noundef %40, i64 noundef 0, i64 noundef %41)
  %43 = icmp ne i32 %42, 0
  br i1 %43, label %44, label %53

44:
  %45 = load i64, ptr %8, align 8
  %46 = add nsw i64 %45, -1
  store i64 %46, ptr %8, align 8
  %47 = load ptr, ptr %5, align 8
  %48 = load i64, ptr %9, align 8
  %49 = getelementptr inbounds %struct.Worker, ptr %47, i64 %48
  %50 = getelementptr inbounds %struct.Worker, ptr %49, i32 0, i32 2
  %51 = getelementptr inbounds [8 x i64], ptr %50, i64 0, i64 0
  %52 = call i32 @sem_post(ptr noundef %51)
  br label %53

53:
  br label %54

54:
  %55 = load i64, ptr %9, align 8
  %56 = add nsw i64 %55, 1
  store i64 %56, ptr %9, align 8
  br label %27

57:
  %58 = load ptr, ptr %3, align 8
  %59 = getelementptr inbounds %struct.TfJob, ptr %58, i32 0, i32 0
  %60 = load ptr, ptr %59, align 8
  %61 = load ptr, ptr %3, align 8
  %62 = getelementptr inbounds %struct.TfJob, ptr %61, i32 0, i32 1
  %63 = call i64 %60(ptr noundef %62)
  store i64 1, ptr %10, align 8
  br label %64

64:
  %65 = load i64, ptr %10, align 8
  %66 = load i64, ptr %7, align 8
  %67 = icmp sle i64 %65, %66
  br i1 %67, label %68, label %91

68:
  %69 = load ptr, ptr %5, align 8
  %70 = load i64, ptr %10, align 8
  %71 = getelementptr inbounds %struct.Worker, ptr %69, i64 %70
  %72 = getelementptr inbounds %struct.Worker, ptr %71, i32 0, i32 0
  %73 = load i64, ptr %6, align 8
  %74 = call i32 @exchange(ptr noundef %72, i64 noundef %73, i64 noundef 0)
  br label %75

75:
  %76 = load ptr, ptr %5, align 8
  %77 = load i64, ptr %10, align 8
  %78 = getelementptr inbounds %struct.Worker, ptr %76, i64 %77
  %79 = getelementptr inbounds %struct.Worker, ptr %78, i32 0, i32 0
  %80 = load atomic i64, ptr %79 acquire, align 8
  store i64 %80, ptr %11, align 8
  %81 = load i64, ptr %11, align 8
  %82 = load i64, ptr %6, align 8
  %83 = or i64 %82, 1
  %84 = icmp eq i64 %81, %83
  br i1 %84, label %85, label %87

85:
  %86 = call i32 @sched_yield()
  br label %75

87:
  br label %88

88:
  %89 = load i64, ptr %10, align 8
  %90 = add nsw i64 %89, 1
  store i64 %90, ptr %10, align 8
  br label %64

91:
  ret void
}

declare void @TF_DeleteTensor(ptr noundef)

define void @tf_serve(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  %3 = alloca i64, align 8
  %4 = alloca i64, align 8
  %5 = alloca i64, align 8
  store ptr %0, ptr %2, align 8
  %6 = call i64 @allow_subnormals()
  br label %7

7:
  %8 = load ptr, ptr %2, align 8
  %9 = getelementptr inbounds %struct.Worker, ptr %8, i32 0, i32 2
  %10 = getelementptr inbounds [8 x i64], ptr %9, i64 0, i64 0
  %11 = call i32 @sem_wait(ptr noundef %10)
  %12 = load ptr, ptr %2, align 8
  %13 = getelementptr inbounds %struct.Worker, ptr %12, i32 0, i32 0
  %14 = load atomic i64, ptr %13 acquire, align 8
  store i64 %14, ptr %4, align 8
  %15 = load i64, ptr %4, align 8
  store i64 %15, ptr %3, align 8
  %16 = load i64, ptr %3, align 8
  %17 = icmp ne i64 %16, 0
  br i1 %17, label %18, label %38

18:
  %19 = load ptr, ptr %2, align 8
  %20 = getelementptr inbounds %struct.Worker, ptr %19, i32 0, i32 0
  %21 = load i64, ptr %3, align 8
  %22 = load i64, ptr %3, align 8
  %23 = or i64 %22, 1
  %24 = call i32 @exchange(ptr noundef %20, i64 noundef %21, i64 noundef %23)
  %25 = icmp ne i32 %24, 0
  br i1 %25, label %26, label %38

26:
  %27 = load i64, ptr %3, align 8
  %28 = inttoptr i64 %27 to ptr
  %29 = getelementptr inbounds %struct.TfJob, ptr %28, i32 0, i32 0
  %30 = load ptr, ptr %29, align 8
  %31 = load i64, ptr %3, align 8
  %32 = inttoptr i64 %31 to ptr
  %33 = getelementptr inbounds %struct.TfJob, ptr %32, i32 0, i32 1
  %34 = call i64 %30(ptr noundef %33)
  %35 = load ptr, ptr %2, align 8
  %36 = getelementptr inbounds %struct.Worker, ptr %35, i32 0, i32 0
  store i64 0, ptr %5, align 8
  %37 = load i64, ptr %5, align 8
  store atomic i64 %37, ptr %36 release, align 8
  br label %38

38:
  br label %7
}

declare i32 @sem_wait(ptr noundef)

define internal i32 @exchange(ptr noundef %0, i64 noundef %1, i64 noundef %2) alwaysinline nounwind {
  %4 = alloca ptr, align 8
  %5 = alloca i64, align 8
  %6 = alloca i64, align 8
  %7 = alloca i64, align 8
  %8 = alloca i8, align 1
  store ptr %0, ptr %4, align 8
  store i64 %1, ptr %5, align 8
  store i64 %2, ptr %6, align 8
  %9 = load ptr, ptr %4, align 8
  %10 = load i64, ptr %6, align 8
  store i64 %10, ptr %7, align 8
  %11 = load i64, ptr %5, align 8
  %12 = load i64, ptr %7, align 8
  %13 = cmpxchg ptr %9, i64 %11, i64 %12 acq_rel monotonic, align 8
  %14 = extractvalue { i64, i1 } %13, 0
  %15 = extractvalue { i64, i1 } %13, 1
  br i1 %15, label %17, label %16

16:
  store i64 %14, ptr %5, align 8
  br label %17

17:
  %18 = zext i1 %15 to i8
  store i8 %18, ptr %8, align 1
  %19 = load i8, ptr %8, align 1
  %20 = trunc i8 %19 to i1
  %21 = zext i1 %20 to i32
  ret i32 %21
}

define void @ufunc_loop(ptr noundef %0, ptr noundef %1, ptr noundef %2, ptr noundef %3) nounwind {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca i64, align 8
  %11 = alloca i64, align 8
  %12 = alloca %struct.Call, align 8
  %13 = alloca i32, align 4
  %14 = alloca i64, align 8
  %15 = alloca i64, align 8
  %16 = alloca i64, align 8
  %17 = alloca i64, align 8
  %18 = alloca i64, align 8
  %19 = alloca i64, align 8
  %20 = alloca i32, align 4
  %21 = alloca i64, align 8
  %22 = alloca i64, align 8
  store ptr %0, ptr %5, align 8
  store ptr %1, ptr %6, align 8
  store ptr %2, ptr %7, align 8
  store ptr %3, ptr %8, align 8
  %23 = load i64, ptr @RESULTS, align 8
  %24 = add nsw i64 3, %23
  %25 = load i64, ptr @INPUTS, align 8
  %26 = add nsw i64 %24, %25
  %27 = load i64, ptr @PARAMETERS, align 8
  %28 = add nsw i64 %26, %27
  %29 = call ptr @llvm.stacksave()
  store ptr %29, ptr %9, align 8
  %30 = alloca ptr, i64 %28, align 8
  store i64 %28, ptr %10, align 8
  %31 = load i64, ptr @RESULTS, align 8
  %32 = load i64, ptr @INPUTS, align 8
  %33 = add nsw i64 %31, %32
  %34 = load i64, ptr @PARAMETERS, align 8
  %35 = add nsw i64 %33, %34
  %36 = alloca [512 x i64], i64 %35, align 8
  store i64 %35, ptr %11, align 8
  %37 = getelementptr inbounds %struct.Call, ptr %12, i32 0, i32 0
  %38 = load ptr, ptr %5, align 8
  store ptr %38, ptr %37, align 8
  %39 = getelementptr inbounds %struct.Call, ptr %12, i32 0, i32 1
  %40 = load ptr, ptr %7, align 8
  store ptr %40, ptr %39, align 8
  %41 = getelementptr inbounds %struct.Call, ptr %12, i32 0, i32 2
  %42 = load ptr, ptr %6, align 8
  %43 = getelementptr inbounds i64, ptr %42, i64 0
  %44 = load i64, ptr %43, align 8
  store i64 %44, ptr %41, align 8
  %45 = getelementptr inbounds %struct.Call, ptr %12, i32 0, i32 3
  %46 = load ptr, ptr %8, align 8
  store ptr %46, ptr %45, align 8
  %47 = getelementptr inbounds %struct.Call, ptr %12, i32 0, i32 4
  store ptr %30, ptr %47, align 8
  %48 = getelementptr inbounds %struct.Call, ptr %12, i32 0, i32 5
  %49 = getelementptr inbounds ptr, ptr %30, i64 3
  store ptr %49, ptr %48, align 8
  %50 = getelementptr inbounds %struct.Call, ptr %12, i32 0, i32 6
  store ptr %36, ptr %50, align 8
  %51 = getelementptr inbounds %struct.Call, ptr %12, i32 0, i32 2
  %52 = load i64, ptr %51, align 8
  %53 = icmp sle i64 %52, 0
  br i1 %53, label %54, label %55

54:
  store i32 1, ptr %13, align 4
  br label %125

55:
  store i64 1, ptr %14, align 8
  store i64 0, ptr %15, align 8
  br label %56

56:
  %57 = load i64, ptr %15, align 8
  %58 = load i64, ptr @PARAMETERS, align 8
  %59 = icmp slt i64 %57, %58
  br i1 %59, label %60, label %75

60:
  %61 = load ptr, ptr %7, align 8
  %62 = load i64, ptr @INPUTS, align 8
  %63 = load i64, ptr %15, align 8
  %64 = add nsw i64 %62, %63
  %65 = getelementptr inbounds i64, ptr %61, i64 %64
  %66 = load i64, ptr %65, align 8
  %67 = icmp eq i64 %66, 0
  %68 = zext i1 %67 to i32
  %69 = sext i32 %68 to i64
  %70 = load i64, ptr %14, align 8
  %71 = and i64 %70, %69
  store i64 %71, ptr %14, align 8
  br label %72

72:
  %73 = load i64, ptr %15, align 8
  %74 = add nsw i64 %73, 1
  store i64 %74, ptr %15, align 8
  br label %56

75:
  %76 = call i64 @allow_subnormals()
  store i64 %76, ptr %16, align 8
  %77 = load ptr, ptr %8, align 8
  %78 = getelementptr inbounds %struct.Data, ptr %77, i32 0, i32 2
  store i64 1, ptr %17, align 8
  %79 = load i64, ptr %17, align 8
  %80 = atomicrmw add ptr %78, i64 %79 seq_cst, align 8
  store i64 %80, ptr %18, align 8
  %81 = load i64, ptr %18, align 8
  %82 = load i64, ptr %14, align 8
  %83 = icmp ne i64 %82, 0
  br i1 %83, label %88, label %84

84:
  %85 = getelementptr inbounds %struct.Call, ptr %12, i32 0, i32 2
  %86 = load i64, ptr %85, align 8
  %87 = icmp eq i64 %86, 1
  br i1 %87, label %88, label %93

88:
  %89 = load i64, ptr @RESULTS, align 8
  %90 = load i64, ptr @INPUTS, align 8
  %91 = add nsw i64 %89, %90
  %92 = call i64 @find_and_compute(ptr noundef %12, i64 noundef 0, i64 noundef %91)
  br label %100

93:
  %94 = load i64, ptr @RESULTS, align 8
  %95 = load i64, ptr @INPUTS, align 8
  %96 = add nsw i64 %94, %95
  %97 = load i64, ptr @PARAMETERS, align 8
  %98 = add nsw i64 %96, %97
  %99 = call i64 @find_and_compute(ptr noundef %12, i64 noundef 1, i64 noundef %98)
  br label %100

100:
  %101 = phi i64 [ %92, %88 ], [ %99, %93 ]
  store i64 %101, ptr %19, align 8
  %102 = load i64, ptr %19, align 8
  %103 = icmp eq i64 %102, 0
  br i1 %103, label %104, label %108

104:
  %105 = load ptr, ptr %8, align 8
  %106 = getelementptr inbounds %struct.Data, ptr %105, i32 0, i32 6
  %107 = load i64, ptr %106, align 8
  store i64 %107, ptr %19, align 8
  br label %108

108:
  %109 = load i64, ptr %19, align 8
  %110 = icmp slt i64 %109, 0
  br i1 %110, label %111, label %118

111:
  %112 = call i32 @PyGILState_Ensure()
  store i32 %112, ptr %20, align 4
  %113 = call i64 @PyThread_get_thread_ident()
  %114 = load i64, ptr %19, align 8
  %115 = sub nsw i64 0, %114
  %116 = call i32 @PyThreadState_SetAsyncExc(i64 noundef %113, i64 noundef %115)
  %117 = load i32, ptr %20, align 4
  call void @PyGILState_Release(i32 noundef %117)
  br label %118

118:
  %119 = load ptr, ptr %8, align 8
  %120 = getelementptr inbounds %struct.Data, ptr %119, i32 0, i32 2
  store i64 1, ptr %21, align 8
  %121 = load i64, ptr %21, align 8
  %122 = atomicrmw sub ptr %120, i64 %121 seq_cst, align 8
  store i64 %122, ptr %22, align 8
  %123 = load i64, ptr %22, align 8
  %124 = load i64, ptr %16, align 8
  call void @set_mode(i64 noundef %124)
  store i32 0, ptr %13, align 4
  br label %125

125:
  %126 = load ptr, ptr %9, align 8
  call void @llvm.stackrestore(ptr %126)
  %127 = load i32, ptr %13, align 4
  switch i32 %127, label %129 [
    i32 0, label %128
    i32 1, label %128
  ]

128:
  ret void

129:
  unreachable
}

define internal i64 @find_and_compute(ptr noundef %0, i64 noundef %1, i64 noundef %2) alwaysinline nounwind {
  %4 = alloca ptr, align 8
  %5 = alloca i64, align 8
  %6 = alloca i64, align 8
  %7 = alloca ptr, align 8
  %8 = alloca i64, align 8
  %9 = alloca i64, align 8
  %10 = alloca i64, align 8
  store ptr %0, ptr %4, align 8
  store i64 %1, ptr %5, align 8
  store i64 %2, ptr %6, align 8
  %11 = load i64, ptr %5, align 8
  %12 = icmp eq i64 %11, 0
  br i1 %12, label %13, label %18

13:
  %14 = load ptr, ptr %4, align 8
  %15 = getelementptr inbounds %struct.Call, ptr %14, i32 0, i32 3
  %16 = load ptr, ptr %15, align 8
  %17 = getelementptr inbounds %struct.Data, ptr %16, i32 0, i32 0
  br label %23

18:
  %19 = load ptr, ptr %4, align 8
  %20 = getelementptr inbounds %struct.Call, ptr %19, i32 0, i32 3
  %21 = load ptr, ptr %20, align 8
  %22 = getelementptr inbounds %struct.Data, ptr %21, i32 0, i32 1
  br label %23

23:
  %24 = phi ptr [ %17, %13 ], [ %22, %18 ]
  store ptr %24, ptr %7, align 8
  %25 = load ptr, ptr %7, align 8
  %26 = load atomic i64, ptr %25 seq_cst, align 8
  store i64 %26, ptr %9, align 8
  %27 = load i64, ptr %9, align 8
  store i64 %27, ptr %8, align 8
  store i64 0, ptr %10, align 8
  br label %28

28:
  %29 = load i64, ptr %8, align 8
  %30 = icmp ne i64 %29, 0
  br i1 %30, label %31, label %38

31:
  %32 = load i64, ptr %5, align 8
  %33 = icmp eq i64 %32, 0
  br i1 %33, label %34, label %38

34:
  %35 = load i64, ptr %10, align 8
  %36 = load i64, ptr @PARAMETERS, align 8
  %37 = icmp slt i64 %35, %36
  br label %38

38:
  %39 = phi i1 [ false, %31 ], [ false, %28 ], [ %37, %34 ]
  br i1 %39, label %40, label %62

40:
  %41 = load i64, ptr %8, align 8
  %42 = inttoptr i64 %41 to ptr
  %43 = getelementptr inbounds %struct.Record, ptr %42, i32 0, i32 2
  %44 = load i64, ptr %10, align 8
  %45 = getelementptr inbounds [0 x i64], ptr %43, i64 0, i64 %44
  %46 = load i64, ptr %45, align 8
  %47 = load ptr, ptr %4, align 8
  %48 = getelementptr inbounds %struct.Call, ptr %47, i32 0, i32 0
  %49 = load ptr, ptr %48, align 8
  %50 = load i64, ptr @INPUTS, align 8
  %51 = load i64, ptr %10, align 8
  %52 = add nsw i64 %50, %51
  %53 = getelementptr inbounds ptr, ptr %49, i64 %52
  %54 = load ptr, ptr %53, align 8
  %55 = load i64, ptr %54, align 1
  %56 = icmp ne i64 %46, %55
  br i1 %56, label %57, label %58

57:
  store i64 0, ptr %8, align 8
  br label %58

58:
  br label %59

59:
  %60 = load i64, ptr %10, align 8
  %61 = add nsw i64 %60, 1
  store i64 %61, ptr %10, align 8
  br label %28

62:
  %63 = load i64, ptr %8, align 8
  %64 = icmp ne i64 %63, 0
  br i1 %64, label %72, label %65

65:
  %66 = load ptr, ptr %4, align 8
  %67 = load i64, ptr %5, align 8
  %68 = load ptr, ptr %4, align 8
  %69 = getelementptr inbounds %struct.Call, ptr %68, i32 0, i32 0
  %70 = load ptr, ptr %69, align 8
  %71 = call i64 @ask(ptr noundef %66, i64 noundef %67, ptr noundef %70)
  store i64 %71, ptr %8, align 8
  br label %72

72:
  %73 = load i64, ptr %8, align 8
  %74 = icmp sgt i64 %73, 1
  br i1 %74, label %75, label %81

75:
  %76 = load ptr, ptr %4, align 8
  %77 = load i64, ptr %8, align 8
  %78 = inttoptr i64 %77 to ptr
  %79 = load i64, ptr %6, align 8
  %80 = call i64 @compute(ptr noundef %76, ptr noundef %78, i64 noundef %79)
  br label %83

81:
  %82 = load i64, ptr %8, align 8
  br label %83

83:
  %84 = phi i64 [ %80, %75 ], [ %82, %81 ]
  ret i64 %84
}

declare i32 @PyGILState_Ensure()

declare i32 @PyThreadState_SetAsyncExc(i64 noundef, i64 noundef)

declare i64 @PyThread_get_thread_ident()

declare void @PyGILState_Release(i32 noundef)

define ptr @call_method(ptr noundef %0, ptr noundef %1, i64 noundef %2, ptr noundef %3) nounwind {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca i64, align 8
  %9 = alloca ptr, align 8
  %10 = alloca i64, align 8
  %11 = alloca ptr, align 8
  %12 = alloca ptr, align 8
  %13 = alloca ptr, align 8
  %14 = alloca ptr, align 8
  %15 = alloca i64, align 8
  store ptr %0, ptr %6, align 8
  store ptr %1, ptr %7, align 8
  store i64 %2, ptr %8, align 8
  store ptr %3, ptr %9, align 8
  %16 = load ptr, ptr %9, align 8
  %17 = icmp ne ptr %16, null
  br i1 %17, label %30, label %18

18:
  %19 = load i64, ptr %8, align 8
  %20 = shl i64 %19, 1
  %21 = icmp ne i64 %20, 4
  br i1 %21, label %30, label %22

22:
  %23 = load ptr, ptr %7, align 8
  %24 = getelementptr inbounds ptr, ptr %23, i64 0
  %25 = load ptr, ptr %24, align 8
  %26 = load i64, ptr @TYPE, align 8
  %27 = call i64 @word_of(ptr noundef %25, i64 noundef %26)
  %28 = load i64, ptr @FUNCTIONS, align 8
  %29 = icmp ne i64 %27, %28
  br i1 %29, label %30, label %36

30:
  %31 = load ptr, ptr %6, align 8
  %32 = load ptr, ptr %7, align 8
  %33 = load i64, ptr %8, align 8
  %34 = load ptr, ptr %9, align 8
  %35 = call ptr @run_code(ptr noundef %31, ptr noundef %32, i64 noundef %33, ptr noundef %34)
  store ptr %35, ptr %5, align 8
  br label %127

36:
  %37 = load ptr, ptr %7, align 8
  %38 = getelementptr inbounds ptr, ptr %37, i64 1
  %39 = load ptr, ptr %38, align 8
  %40 = load i64, ptr @TYPE, align 8
  %41 = call i64 @word_of(ptr noundef %39, i64 noundef %40)
  store i64 %41, ptr %10, align 8
  %42 = load i64, ptr %10, align 8
  %43 = load i64, ptr @ARRAYS, align 8
  %44 = icmp eq i64 %42, %43
  br i1 %44, label %45, label %82

45:
  %46 = load ptr, ptr %7, align 8
  %47 = getelementptr inbounds ptr, ptr %46, i64 0
  %48 = load ptr, ptr %47, align 8
  %49 = load i64, ptr @UFUNC, align 8
  %50 = call ptr @slot_of(ptr noundef %48, i64 noundef %49)
  store ptr %50, ptr %11, align 8
  %51 = load ptr, ptr %11, align 8
  %52 = icmp ne ptr %51, null
  br i1 %52, label %53, label %76

53:
  %54 = load ptr, ptr %7, align 8
  %55 = getelementptr inbounds ptr, ptr %54, i64 1
  %56 = load ptr, ptr %55, align 8
  %57 = load i64, ptr @FLAGS, align 8
  %58 = call i64 @word_of(ptr noundef %56, i64 noundef %57)
  %59 = and i64 %58, 3
  %60 = icmp ne i64 %59, 0
  br i1 %60, label %61, label %76

61:
  %62 = load ptr, ptr %11, align 8
  %63 = load ptr, ptr %7, align 8
  %64 = getelementptr inbounds ptr, ptr %63, i64 1
  %65 = call ptr @with_one_operand(ptr noundef %62, ptr noundef %64)
  store ptr %65, ptr %12, align 8
  %66 = load ptr, ptr %12, align 8
  %67 = icmp ne ptr %66, null
  br i1 %67, label %73, label %68

68:
  %69 = load i64, ptr @TYPE_ERROR, align 8
  %70 = inttoptr i64 %69 to ptr
  %71 = call i32 @PyErr_ExceptionMatches(ptr noundef %70)
  %72 = icmp ne i32 %71, 0
  br i1 %72, label %75, label %73

73:
  %74 = load ptr, ptr %12, align 8
  store ptr %74, ptr %5, align 8
  br label %127

75:
  call void @PyErr_Clear()
  br label %76

76:
  %77 = load ptr, ptr %6, align 8
  %78 = load ptr, ptr %7, align 8
  %79 = load i64, ptr %8, align 8
  %80 = load ptr, ptr %9, align 8
  %81 = call ptr @run_code(ptr noundef %77, ptr noundef %78, i64 noundef %79, ptr noundef %80)
  store ptr %81, ptr %5, align 8
  br label %127

82:
  %83 = load ptr, ptr %7, align 8
  %84 = getelementptr inbounds ptr, ptr %83, i64 0
  %85 = load ptr, ptr %84, align 8
  %86 = load i64, ptr @TENSORS, align 8
  %87 = call ptr @slot_of(ptr noundef %85, i64 noundef %86)
  store ptr %87, ptr %13, align 8
  %88 = load ptr, ptr %7, align 8
  %89 = getelementptr inbounds ptr, ptr %88, i64 0
  %90 = load ptr, ptr %89, align 8
  %91 = load i64, ptr @FAST_PATH, align 8
  %92 = call ptr @slot_of(ptr noundef %90, i64 noundef %91)
  store ptr %92, ptr %14, align 8
  %93 = load ptr, ptr %13, align 8
  %94 = icmp ne ptr %93, null
  br i1 %94, label %95, label %121

95:
  %96 = load ptr, ptr %14, align 8
  %97 = icmp ne ptr %96, null
  br i1 %97, label %98, label %121

98:
  store i64 0, ptr %15, align 8
  br label %99

99:
  %100 = load i64, ptr %15, align 8
  %101 = load ptr, ptr %13, align 8
  %102 = call i64 @PyTuple_Size(ptr noundef %101)
  %103 = icmp slt i64 %100, %102
  br i1 %103, label %104, label %120

104:
  %105 = load ptr, ptr %13, align 8
  %106 = load i64, ptr %15, align 8
  %107 = call ptr @PyTuple_GetItem(ptr noundef %105, i64 noundef %106)
  %108 = ptrtoint ptr %107 to i64
  %109 = load i64, ptr %10, align 8
  %110 = icmp eq i64 %108, %109
  br i1 %110, label %111, label %116

111:
  %112 = load ptr, ptr %14, align 8
  %113 = load ptr, ptr %7, align 8
  %114 = getelementptr inbounds ptr, ptr %113, i64 1
  %115 = call ptr @with_one_operand(ptr noundef %112, ptr noundef %114)
  store ptr %115, ptr %5, align 8
  br label %127

116:
  br label %117

117:
  %118 = load i64, ptr %15, align 8
  %119 = add nsw i64 %118, 1
  store i64 %119, ptr %15, align 8
  br label %99

120:
  br label %121

121:
  %122 = load ptr, ptr %6, align 8
  %123 = load ptr, ptr %7, align 8
  %124 = load i64, ptr %8, align 8
  %125 = load ptr, ptr %9, align 8
  %126 = call ptr @run_code(ptr noundef %122, ptr noundef %123, i64 noundef %124, ptr noundef %125)
  store ptr %126, ptr %5, align 8
  br label %127

127:
  %128 = load ptr, ptr %5, align 8
  ret ptr %128
}

define internal i64 @word_of(ptr noundef %0, i64 noundef %1) alwaysinline nounwind {
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  store ptr %0, ptr %3, align 8
  store i64 %1, ptr %4, align 8
  %5 = load ptr, ptr %3, align 8
  %6 = load i64, ptr %4, align 8
  %7 = getelementptr inbounds i8, ptr %5, i64 %6
  %8 = load i64, ptr %7, align 8
  ret i64 %8
}

declare ptr @run_code(ptr noundef, ptr noundef, i64 noundef, ptr noundef)

define internal ptr @slot_of(ptr noundef %0, i64 noundef %1) alwaysinline nounwind {
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  %5 = alloca i64, align 8
  store ptr %0, ptr %3, align 8
  store i64 %1, ptr %4, align 8
  %6 = load ptr, ptr %3, align 8
  %7 = load i64, ptr %4, align 8
  %8 = call i64 @word_of(ptr noundef %6, i64 noundef %7)
  store i64 %8, ptr %5, align 8
  %9 = load i64, ptr %5, align 8
  %10 = load i64, ptr @NONE, align 8
  %11 = icmp eq i64 %9, %10
  br i1 %11, label %12, label %13

12:
  br label %16

13:
  %14 = load i64, ptr %5, align 8
  %15 = inttoptr i64 %14 to ptr
  br label %16

16:
  %17 = phi ptr [ null, %12 ], [ %15, %13 ]
  ret ptr %17
}

define internal ptr @with_one_operand(ptr noundef %0, ptr noundef %1) nounwind {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  store ptr %0, ptr %3, align 8
  store ptr %1, ptr %4, align 8
  %6 = load ptr, ptr %3, align 8
  call void @Py_IncRef(ptr noundef %6)
  %7 = load ptr, ptr %3, align 8
  %8 = load ptr, ptr %4, align 8
  %9 = call ptr @PyObject_Vectorcall(ptr noundef %7, ptr noundef %8, i64 noundef 1, ptr noundef null)
  store ptr %9, ptr %5, align 8
  %10 = load ptr, ptr %3, align 8
  call void @Py_DecRef(ptr noundef %10)
  %11 = load ptr, ptr %5, align 8
  ret ptr %11
}

declare i32 @PyErr_ExceptionMatches(ptr noundef)

declare void @PyErr_Clear()

declare i64 @PyTuple_Size(ptr noundef)

declare ptr @PyTuple_GetItem(ptr noundef, i64 noundef)

define void @column_sums(ptr noalias noundef %0, ptr noalias noundef %1, ptr noalias noundef %2, ptr noalias noundef %3, ptr noalias noundef %4, i64 noundef %5) nounwind {
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca ptr, align 8
  %11 = alloca ptr, align 8
  %12 = alloca i64, align 8
  %13 = alloca [11 x [64 x double]], align 8
  %14 = alloca i64, align 8
  %15 = alloca i64, align 8
  %16 = alloca i64, align 8
  %17 = alloca i64, align 8
  %18 = alloca i64, align 8
  %19 = alloca ptr, align 8
  %20 = alloca ptr, align 8
  %21 = alloca ptr, align 8
  %22 = alloca i64, align 8
  %23 = alloca double, align 8
  %24 = alloca double, align 8
  %25 = alloca double, align 8
  %26 = alloca i32, align 4
  %27 = alloca double, align 8
  %28 = alloca double, align 8
  %29 = alloca i64, align 8
  %30 = alloca i64, align 8
  store ptr %0, ptr %7, align 8
  store ptr %1, ptr %8, align 8
  store ptr %2, ptr %9, align 8
  store ptr %3, ptr %10, align 8
  store ptr %4, ptr %11, align 8
  store i64 %5, ptr %12, align 8
  store i64 0, ptr %14, align 8
  br label %31

31:
  %32 = load i64, ptr %14, align 8
  %33 = load i64, ptr %12, align 8
  %34 = icmp slt i64 %32, %33
  br i1 %34, label %35, label %345

35:
  %36 = load i64, ptr %12, align 8
  %37 = load i64, ptr %14, align 8
  %38 = sub nsw i64 %36, %37
  %39 = icmp slt i64 64, %38
  br i1 %39, label %40, label %41

40:
  br label %45

41:
  %42 = load i64, ptr %12, align 8
  %43 = load i64, ptr %14, align 8
  %44 = sub nsw i64 %42, %43
  br label %45

45:
  %46 = phi i64 [ 64, %40 ], [ %44, %41 ]
  store i64 %46, ptr %15, align 8
  store i64 0, ptr %16, align 8
  br label %47

47:
  %48 = load i64, ptr %16, align 8
  %49 = icmp slt i64 %48, 11
  br i1 %49, label %50, label %79

50:
  store i64 0, ptr %17, align 8
  br label %51

51:
  %52 = load i64, ptr %17, align 8
  %53 = load i64, ptr %15, align 8
  %54 = icmp slt i64 %52, %53
  br i1 %54, label %55, label %75

55:
  %56 = load i64, ptr %16, align 8
  %57 = icmp eq i64 %56, 0
  br i1 %57, label %58, label %65

58:
  %59 = load ptr, ptr %7, align 8
  %60 = load i64, ptr %14, align 8
  %61 = load i64, ptr %17, align 8
  %62 = add nsw i64 %60, %61
  %63 = getelementptr inbounds double, ptr %59, i64 %62
  %64 = load double, ptr %63, align 8
  br label %66

65:
  br label %66

66:
  %67 = phi double [ %64, %58 ], [ 0.000000e+00, %65 ]
  %68 = load i64, ptr %16, align 8
  %69 = getelementptr inbounds [11 x [64 x double]], ptr %13, i64 0, i64 %68
  %70 = load i64, ptr %17, align 8
  %71 = getelementptr inbounds [64 x double], ptr %69, i64 0, i64 %70
  store double %67, ptr %71, align 8
  br label %72

72:
  %73 = load i64, ptr %17, align 8
  %74 = add nsw i64 %73, 1
  store i64 %74, ptr %17, align 8
  br label %51

75:
  br label %76

76:
  %77 = load i64, ptr %16, align 8
  %78 = add nsw i64 %77, 1
  store i64 %78, ptr %16, align 8
  br label %47

79:
  store i64 0, ptr %18, align 8
  br label %80

80:
  %81 = load i64, ptr %18, align 8
  %82 = load ptr, ptr %11, align 8
  %83 = getelementptr inbounds %struct.Settings, ptr %82, i32 0, i32 7
  %84 = load i64, ptr %83, align 8
  %85 = icmp slt i64 %81, %84
  br i1 %85, label %86, label %306

86:
  %87 = load ptr, ptr %8, align 8
  %88 = load i64, ptr @ITEM, align 8
  %89 = load i64, ptr %18, align 8
  %90 = load ptr, ptr %11, align 8
  %91 = getelementptr inbounds %struct.Settings, ptr %90, i32 0, i32 0
  %92 = load i64, ptr %91, align 8
  %93 = mul nsw i64 %89, %92
  %94 = load i64, ptr %14, align 8
  %95 = add nsw i64 %93, %94
  %96 = mul nsw i64 %88, %95
  %97 = getelementptr inbounds i8, ptr %87, i64 %96
  store ptr %97, ptr %19, align 8
  %98 = load ptr, ptr %9, align 8
  %99 = load i64, ptr @ITEM, align 8
  %100 = load i64, ptr %18, align 8
  %101 = load ptr, ptr %11, align 8
  %102 = getelementptr inbounds %struct.Settings, ptr %101, i32 0, i32 1
  %103 = load i64, ptr %102, align 8
  %104 = mul nsw i64 %100, %103
  %105 = load i64, ptr %14, align 8
  %106 = add nsw i64 %104, %105
  %107 = mul nsw i64 %99, %106
  %108 = getelementptr inbounds i8, ptr %98, i64 %107
  store ptr %108, ptr %20, align 8
  %109 = load ptr, ptr %10, align 8
  %110 = load i64, ptr @ITEM, align 8
  %111 = load i64, ptr %18, align 8
  %112 = load ptr, ptr %11, align 8
  %113 = getelementptr inbounds %struct.Settings, ptr %112, i32 0, i32 2
  %114 = load i64, ptr %113, align 8
  %115 = mul nsw i64 %111, %114
  %116 = load i64, ptr %14, align 8
  %117 = add nsw i64 %115, %116
  %118 = mul nsw i64 %110, %117
  %119 = getelementptr inbounds i8, ptr %109, i64 %118
  store ptr %119, ptr %21, align 8
  store i64 0, ptr %22, align 8
  br label %120

120:
  %121 = load i64, ptr %22, align 8
  %122 = load i64, ptr %15, align 8
  %123 = icmp slt i64 %121, %122
  br i1 %123, label %124, label %302

124:
  %125 = load ptr, ptr %19, align 8
  %126 = load i64, ptr %22, align 8
  %127 = call double @load(ptr noundef %125, i64 noundef %126)
  store double %127, ptr %23, align 8
  %128 = load ptr, ptr %20, align 8
  %129 = load i64, ptr %22, align 8
  %130 = call double @load(ptr noundef %128, i64 noundef %129)
  store double %130, ptr %24, align 8
  %131 = load ptr, ptr %21, align 8
  %132 = load i64, ptr %22, align 8
  %133 = call double @load(ptr noundef %131, i64 noundef %132)
  store double %133, ptr %25, align 8
  %134 = load double, ptr %23, align 8
  %135 = load double, ptr %23, align 8
  %136 = fsub double %134, %135
  %137 = load double, ptr %24, align 8
  %138 = load double, ptr %24, align 8
  %139 = fsub double %137, %138
  %140 = fadd double %136, %139
  %141 = fcmp oeq double %140, 0.000000e+00
  %142 = zext i1 %141 to i32
  store i32 %142, ptr %26, align 4
  %143 = load i32, ptr %26, align 4
  %144 = icmp ne i32 %143, 0
  br i1 %144, label %145, label %152

145:
  %146 = load double, ptr %24, align 8
  %147 = getelementptr inbounds [11 x [64 x double]], ptr %13, i64 0, i64 0
  %148 = load i64, ptr %22, align 8
  %149 = getelementptr inbounds [64 x double], ptr %147, i64 0, i64 %148
  %150 = load double, ptr %149, align 8
  %151 = fsub double %146, %150
  br label %153

152:
  br label %153

153:
  %154 = phi double [ %151, %145 ], [ 0.000000e+00, %152 ]
  store double %154, ptr %27, align 8
  %155 = load double, ptr %24, align 8
  %156 = load double, ptr %23, align 8
  %157 = fdiv double %155, %156
  store double %157, ptr %28, align 8
  %158 = load double, ptr %23, align 8
  %159 = fcmp oeq double %158, 0.000000e+00
  br i1 %159, label %160, label %162

160:
  %161 = load double, ptr %25, align 8
  br label %164

162:
  %163 = load double, ptr %28, align 8
  br label %164

164:
  %165 = phi double [ %161, %160 ], [ %163, %162 ]
  store double %165, ptr %28, align 8
  %166 = load i32, ptr %26, align 4
  %167 = icmp ne i32 %166, 0
  %168 = zext i1 %167 to i64
  %169 = select i1 %167, i32 1, i32 0
  %170 = sitofp i32 %169 to double
  %171 = getelementptr inbounds [11 x [64 x double]], ptr %13, i64 0, i64 1
  %172 = load i64, ptr %22, align 8
  %173 = getelementptr inbounds [64 x double], ptr %171, i64 0, i64 %172
  %174 = load double, ptr %173, align 8
  %175 = fadd double %174, %170
  store double %175, ptr %173, align 8
  %176 = load i32, ptr %26, align 4
  %177 = load double, ptr %25, align 8
  %178 = load ptr, ptr %11, align 8
  %179 = getelementptr inbounds %struct.Settings, ptr %178, i32 0, i32 4
  %180 = load double, ptr %179, align 8
  %181 = fcmp olt double %177, %180
  %182 = zext i1 %181 to i32
  %183 = and i32 %176, %182
  %184 = icmp ne i32 %183, 0
  %185 = zext i1 %184 to i64
  %186 = select i1 %184, i32 1, i32 0
  %187 = sitofp i32 %186 to double
  %188 = getelementptr inbounds [11 x [64 x double]], ptr %13, i64 0, i64 2
  %189 = load i64, ptr %22, align 8
  %190 = getelementptr inbounds [64 x double], ptr %188, i64 0, i64 %189
  %191 = load double, ptr %190, align 8
  %192 = fadd double %191, %187
  store double %192, ptr %190, align 8
  %193 = load i32, ptr %26, align 4
  %194 = load double, ptr %25, align 8
  %195 = fcmp olt double %194, 0.000000e+00
  %196 = zext i1 %195 to i32
  %197 = and i32 %193, %196
  %198 = icmp ne i32 %197, 0
  %199 = zext i1 %198 to i64
  %200 = select i1 %198, i32 1, i32 0
  %201 = sitofp i32 %200 to double
  %202 = getelementptr inbounds [11 x [64 x double]], ptr %13, i64 0, i64 3
  %203 = load i64, ptr %22, align 8
  %204 = getelementptr inbounds [64 x double], ptr %202, i64 0, i64 %203
  %205 = load double, ptr %204, align 8
  %206 = fadd double %205, %201
  store double %206, ptr %204, align 8
  %207 = load i32, ptr %26, align 4
  %208 = load double, ptr %25, align 8
  %209 = load ptr, ptr %11, align 8
  %210 = getelementptr inbounds %struct.Settings, ptr %209, i32 0, i32 4
  %211 = load double, ptr %210, align 8
  %212 = fneg double %211
  %213 = fcmp ole double %208, %212
  %214 = zext i1 %213 to i32
  %215 = and i32 %207, %214
  %216 = icmp ne i32 %215, 0
  %217 = zext i1 %216 to i64
  %218 = select i1 %216, i32 1, i32 0
  %219 = sitofp i32 %218 to double
  %220 = getelementptr inbounds [11 x [64 x double]], ptr %13, i64 0, i64 4
  %221 = load i64, ptr %22, align 8
  %222 = getelementptr inbounds [64 x double], ptr %220, i64 0, i64 %221
  %223 = load double, ptr %222, align 8
  %224 = fadd double %223, %219
  store double %224, ptr %222, align 8
  %225 = load i32, ptr %26, align 4
  %226 = load double, ptr %24, align 8
  %227 = load ptr, ptr %11, align 8
  %228 = getelementptr inbounds %struct.Settings, ptr %227, i32 0, i32 5
  %229 = load double, ptr %228, align 8
  %230 = fcmp ole double %226, %229
  %231 = zext i1 %230 to i32
  %232 = load double, ptr %24, align 8
  %233 = load ptr, ptr %11, align 8
  %234 = getelementptr inbounds %struct.Settings, ptr %233, i32 0, i32 6
  %235 = load double, ptr %234, align 8
  %236 = fcmp oge double %232, %235
  %237 = zext i1 %236 to i32
  %238 = or i32 %231, %237
  %239 = and i32 %225, %238
  %240 = icmp ne i32 %239, 0
  %241 = zext i1 %240 to i64
  %242 = select i1 %240, i32 1, i32 0
  %243 = sitofp i32 %242 to double
  %244 = getelementptr inbounds [11 x [64 x double]], ptr %13, i64 0, i64 5
  %245 = load i64, ptr %22, align 8
  %246 = getelementptr inbounds [64 x double], ptr %244, i64 0, i64 %245
  %247 = load double, ptr %246, align 8
  %248 = fadd double %247, %243
  store double %248, ptr %246, align 8
  %249 = load double, ptr %27, align 8
  %250 = getelementptr inbounds [11 x [64 x double]], ptr %13, i64 0, i64 6
  %251 = load i64, ptr %22, align 8
  %252 = getelementptr inbounds [64 x double], ptr %250, i64 0, i64 %251
  %253 = load double, ptr %252, align 8
  %254 = fadd double %253, %249
  store double %254, ptr %252, align 8
  %255 = load double, ptr %27, align 8
  %256 = load double, ptr %27, align 8
  %257 = fmul double %255, %256
  %258 = getelementptr inbounds [11 x [64 x double]], ptr %13, i64 0, i64 7
  %259 = load i64, ptr %22, align 8
  %260 = getelementptr inbounds [64 x double], ptr %258, i64 0, i64 %259
  %261 = load double, ptr %260, align 8
  %262 = fadd double %261, %257
  store double %262, ptr %260, align 8
  %263 = load double, ptr %27, align 8
  %264 = load double, ptr %27, align 8
  %265 = fmul double %263, %264
  %266 = load double, ptr %27, align 8
  %267 = fmul double %265, %266
  %268 = getelementptr inbounds [11 x [64 x double]], ptr %13, i64 0, i64 8
  %269 = load i64, ptr %22, align 8
  %270 = getelementptr inbounds [64 x double], ptr %268, i64 0, i64 %269
  %271 = load double, ptr %270, align 8
  %272 = fadd double %271, %267
  store double %272, ptr %270, align 8
  %273 = load i32, ptr %26, align 4
  %274 = icmp ne i32 %273, 0
  br i1 %274, label %275, label %277

275:
  %276 = load double, ptr %28, align 8
  br label %278

277:
  br label %278

278:
  %279 = phi double [ %276, %275 ], [ 0.000000e+00, %277 ]
  %280 = getelementptr inbounds [11 x [64 x double]], ptr %13, i64 0, i64 9
  %281 = load i64, ptr %22, align 8
  %282 = getelementptr inbounds [64 x double], ptr %280, i64 0, i64 %281
  %283 = load double, ptr %282, align 8
  %284 = fadd double %283, %279
  store double %284, ptr %282, align 8
  %285 = load i32, ptr %26, align 4
  %286 = icmp ne i32 %285, 0
  br i1 %286, label %287, label %291

287:
  %288 = load double, ptr %23, align 8
  %289 = load double, ptr %23, align 8
  %290 = fmul double %288, %289
  br label %292

291:
  br label %292

292:
  %293 = phi double [ %290, %287 ], [ 0.000000e+00, %291 ]
  %294 = getelementptr inbounds [11 x [64 x double]], ptr %13, i64 0, i64 10
  %295 = load i64, ptr %22, align 8
  %296 = getelementptr inbounds [64 x double], ptr %294, i64 0, i64 %295
  %297 = load double, ptr %296, align 8
  %298 = fadd double %297, %293
  store double %298, ptr %296, align 8
  br label %299

299:
  %300 = load i64, ptr %22, align 8
  %301 = add nsw i64 %300, 1
  store i64 %301, ptr %22, align 8
  br label %120

302:
  br label %303

303:
  %304 = load i64, ptr %18, align 8
  %305 = add nsw i64 %304, 1
  store i64 %305, ptr %18, align 8
  br label %80

306:
  store i64 1, ptr %29, align 8
  br label %307

307:
  %308 = load i64, ptr %29, align 8
  %309 = icmp slt i64 %308, 11
  br i1 %309, label %310, label %341

310:
  store i64 0, ptr %30, align 8
  br label %311

311:
  %312 = load i64, ptr %30, align 8
  %313 = load i64, ptr %15, align 8
  %314 = icmp slt i64 %312, %313
  br i1 %314, label %315, label %337

315:
  %316 = load i64, ptr %29, align 8
  %317 = getelementptr inbounds [11 x [64 x double]], ptr %13, i64 0, i64 %316
  %318 = load i64, ptr %30, align 8
  %319 = getelementptr inbounds [64 x double], ptr %317, i64 0, i64 %318
  %320 = load double, ptr %319, align 8
  %321 = load ptr, ptr %7, align 8
  %322 = load i64, ptr %29, align 8
  %323 = load ptr, ptr %11, align 8
  %324 = getelementptr inbounds %struct.Settings, ptr %323, i32 0, i32 3
  %325 = load i64, ptr %324, align 8
  %326 = mul nsw i64 %322, %325
  %327 = load i64, ptr %14, align 8
  %328 = add nsw i64 %326, %327
  %329 = load i64, ptr %30, align 8
  %330 = add nsw i64 %328, %329
  %331 = getelementptr inbounds double, ptr %321, i64 %330
  %332 = load double, ptr %331, align 8
  %333 = fadd double %332, %320
  store double %333, ptr %331, align 8
  br label %334

334:
  %335 = load i64, ptr %30, align 8
  %336 = add nsw i64 %335, 1
  store i64 %336, ptr %30, align 8
  br label %311

337:
  br label %338

338:
  %339 = load i64, ptr %29, align 8
  %340 = add nsw i64 %339, 1
  store i64 %340, ptr %29, align 8
  br label %307

341:
  br label %342

342:
  %343 = load i64, ptr %14, align 8
  %344 = add nsw i64 %343, 64
  store i64 %344, ptr %14, align 8
  br label %31

345:
  ret void
}

declare double @load(ptr noundef, i64 noundef)

declare i64 @get_mode()

declare ptr @memcpy(ptr noundef, ptr noundef, i64 noundef)

define internal void @copy(ptr noundef %0, i64 noundef %1, ptr noundef %2, i64 noundef %3, i64 noundef %4, i64 noundef %5) noinline nounwind {
  %7 = alloca ptr, align 8
  %8 = alloca i64, align 8
  %9 = alloca ptr, align 8
  %10 = alloca i64, align 8
  %11 = alloca i64, align 8
  %12 = alloca i64, align 8
  %13 = alloca i64, align 8
  %14 = alloca i64, align 8
  %15 = alloca i64, align 8
  %16 = alloca i64, align 8
  store ptr %0, ptr %7, align 8
  store i64 %1, ptr %8, align 8
  store ptr %2, ptr %9, align 8
  store i64 %3, ptr %10, align 8
  store i64 %4, ptr %11, align 8
  store i64 %5, ptr %12, align 8
  %17 = load i64, ptr %11, align 8
  %18 = icmp eq i64 %17, 1
  br i1 %18, label %19, label %40

19:
  store i64 0, ptr %13, align 8
  br label %20

20:
  %21 = load i64, ptr %13, align 8
  %22 = load i64, ptr %12, align 8
  %23 = icmp slt i64 %21, %22
  br i1 %23, label %24, label %39

24:
  %25 = load ptr, ptr %7, align 8
  %26 = load i64, ptr %13, align 8
  %27 = load i64, ptr %8, align 8
  %28 = mul nsw i64 %26, %27
  %29 = getelementptr inbounds i8, ptr %25, i64 %28
  %30 = load i8, ptr %29, align 1
  %31 = load ptr, ptr %9, align 8
  %32 = load i64, ptr %13, align 8
  %33 = load i64, ptr %10, align 8
  %34 = mul nsw i64 %32, %33
  %35 = getelementptr inbounds i8, ptr %31, i64 %34
  store i8 %30, ptr %35, align 1
  br label %36

36:
  %37 = load i64, ptr %13, align 8
  %38 = add nsw i64 %37, 1
  store i64 %38, ptr %13, align 8
  br label %20

39:
  br label %111

40:
  %41 = load i64, ptr %11, align 8
  %42 = icmp eq i64 %41, 2
  br i1 %42, label %43, label %64

43:
  store i64 0, ptr %14, align 8
  br label %44

44:
  %45 = load i64, ptr %14, align 8
  %46 = load i64, ptr %12, align 8
  %47 = icmp slt i64 %45, %46
  br i1 %47, label %48, label %63

48:
  %49 = load ptr, ptr %7, align 8
  %50 = load i64, ptr %14, align 8
  %51 = load i64, ptr %8, align 8
  %52 = mul nsw i64 %50, %51
  %53 = getelementptr inbounds i8, ptr %49, i64 %52
  %54 = load i16, ptr %53, align 1
  %55 = load ptr, ptr %9, align 8
  %56 = load i64, ptr %14, align 8
  %57 = load i64, ptr %10, align 8
  %58 = mul nsw i64 %56, %57
  %59 = getelementptr inbounds i8, ptr %55, i64 %58
  store i16 %54, ptr %59, align 1
  br label %60

60:
  %61 = load i64, ptr %14, align 8
  %62 = add nsw i64 %61, 1
  store i64 %62, ptr %14, align 8
  br label %44

63:
  br label %110

64:
  %65 = load i64, ptr %11, align 8
  %66 = icmp eq i64 %65, 4
  br i1 %66, label %67, label %88

67:
  store i64 0, ptr %15, align 8
  br label %68

68:
  %69 = load i64, ptr %15, align 8
  %70 = load i64, ptr %12, align 8
  %71 = icmp slt i64 %69, %70
  br i1 %71, label %72, label %87

72:
  %73 = load ptr, ptr %7, align 8
  %74 = load i64, ptr %15, align 8
  %75 = load i64, ptr %8, align 8
  %76 = mul nsw i64 %74, %75
  %77 = getelementptr inbounds i8, ptr %73, i64 %76
  %78 = load i32, ptr %77, align 1
  %79 = load ptr, ptr %9, align 8
  %80 = load i64, ptr %15, align 8
  %81 = load i64, ptr %10, align 8
  %82 = mul nsw i64 %80, %81
  %83 = getelementptr inbounds i8, ptr %79, i64 %82
  store i32 %78, ptr %83, align 1
  br label %84

84:
  %85 = load i64, ptr %15, align 8
  %86 = add nsw i64 %85, 1
  store i64 %86, ptr %15, align 8
  br label %68

87:
  br label %109

88:
  store i64 0, ptr %16, align 8
  br label %89

89:
  %90 = load i64, ptr %16, align 8
  %91 = load i64, ptr %12, align 8
  %92 = icmp slt i64 %90, %91
  br i1 %92, label %93, label %108

93:
  %94 = load ptr, ptr %7, align 8
  %95 = load i64, ptr %16, align 8
  %96 = load i64, ptr %8, align 8
  %97 = mul nsw i64 %95, %96
  %98 = getelementptr inbounds i8, ptr %94, i64 %97
  %99 = load i64, ptr %98, align 1
  %100 = load ptr, ptr %9, align 8
  %101 = load i64, ptr %16, align 8
  %102 = load i64, ptr %10, align 8
  %103 = mul nsw i64 %101, %102
  %104 = getelementptr inbounds i8, ptr %100, i64 %103
  store i64 %99, ptr %104, align 1
  br label %105

105:
  %106 = load i64, ptr %16, align 8
  %107 = add nsw i64 %106, 1
  store i64 %107, ptr %16, align 8
  br label %89

108:
  br label %109

109:
  br label %110

110:
  br label %111

111:
  ret void
}

define internal ptr @stub000(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 0))
  ret ptr %4
}

define internal ptr @stub001(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 1))
  ret ptr %4
}

define internal ptr @stub002(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 2))
  ret ptr %4
}

define internal ptr @stub003(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 3))
  ret ptr %4
}

define internal ptr @stub004(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 4))
  ret ptr %4
}

define internal ptr @stub005(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 5))
  ret ptr %4
}

define internal ptr @stub006(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 6))
  ret ptr %4
}

define internal ptr @stub007(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 7))
  ret ptr %4
}

define internal ptr @stub010(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 8))
  ret ptr %4
}

define internal ptr @stub011(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 9))
  ret ptr %4
}

define internal ptr @stub012(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 10))
  ret ptr %4
}

define internal ptr @stub013(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 11))
  ret ptr %4
}

define internal ptr @stub014(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 12))
  ret ptr %4
}

define internal ptr @stub015(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 13))
  ret ptr %4
}

define internal ptr @stub016(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 14))
  ret ptr %4
}

define internal ptr @stub017(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 15))
  ret ptr %4
}

define internal ptr @stub020(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 16))
  ret ptr %4
}

define internal ptr @stub021(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 17))
  ret ptr %4
}

define internal ptr @stub022(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 18))
  ret ptr %4
}

define internal ptr @stub023(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 19))
  ret ptr %4
}

define internal ptr @stub024(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 20))
  ret ptr %4
}

define internal ptr @stub025(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 21))
  ret ptr %4
}

define internal ptr @stub026(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 22))
  ret ptr %4
}

define internal ptr @stub027(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 23))
  ret ptr %4
}

define internal ptr @stub030(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 24))
  ret ptr %4
}

define internal ptr @stub031(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 25))
  ret ptr %4
}

define internal ptr @stub032(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 26))
  ret ptr %4
}

define internal ptr @stub033(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 27))
  ret ptr %4
}

define internal ptr @stub034(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 28))
  ret ptr %4
}

define internal ptr @stub035(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 29))
  ret ptr %4
}

define internal ptr @stub036(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 30))
  ret ptr %4
}

define internal ptr @stub037(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 31))
  ret ptr %4
}

define internal ptr @stub040(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 32))
  ret ptr %4
}

define internal ptr @stub041(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 33))
  ret ptr %4
}

define internal ptr @stub042(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 34))
  ret ptr %4
}

define internal ptr @stub043(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 35))
  ret ptr %4
}

define internal ptr @stub044(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 36))
  ret ptr %4
}

define internal ptr @stub045(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 37))
  ret ptr %4
}

define internal ptr @stub046(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 38))
  ret ptr %4
}

define internal ptr @stub047(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 39))
  ret ptr %4
}

define internal ptr @stub050(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 40))
  ret ptr %4
}

define internal ptr @stub051(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 41))
  ret ptr %4
}

define internal ptr @stub052(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 42))
  ret ptr %4
}

define internal ptr @stub053(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 43))
  ret ptr %4
}

define internal ptr @stub054(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 44))
  ret ptr %4
}

define internal ptr @stub055(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 45))
  ret ptr %4
}

define internal ptr @stub056(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 46))
  ret ptr %4
}

define internal ptr @stub057(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 47))
  ret ptr %4
}

define internal ptr @stub060(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 48))
  ret ptr %4
}

define internal ptr @stub061(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 49))
  ret ptr %4
}

define internal ptr @stub062(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 50))
  ret ptr %4
}

define internal ptr @stub063(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 51))
  ret ptr %4
}

define internal ptr @stub064(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 52))
  ret ptr %4
}

define internal ptr @stub065(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 53))
  ret ptr %4
}

define internal ptr @stub066(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 54))
  ret ptr %4
}

define internal ptr @stub067(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 55))
  ret ptr %4
}

define internal ptr @stub070(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 56))
  ret ptr %4
}

define internal ptr @stub071(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 57))
  ret ptr %4
}

define internal ptr @stub072(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 58))
  ret ptr %4
}

define internal ptr @stub073(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 59))
  ret ptr %4
}

define internal ptr @stub074(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 60))
  ret ptr %4
}

define internal ptr @stub075(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 61))
  ret ptr %4
}

define internal ptr @stub076(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 62))
  ret ptr %4
}

define internal ptr @stub077(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call ptr @xla_handler(ptr noundef %3, ptr noundef getelementptr inbounds ([64 x %struct.Slot], ptr @slots, i64 0, i64 63))
  ret ptr %4
}

define internal ptr @xla_handler(ptr noundef %0, ptr noundef %1) noinline nounwind {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca i64, align 8
  %9 = alloca i64, align 8
  %10 = alloca i64, align 8
  %11 = alloca %struct.XLA_FFI_Error_Create_Args, align 8
  %12 = alloca ptr, align 8
  %13 = alloca ptr, align 8
  %14 = alloca i64, align 8
  %15 = alloca i64, align 8
  %16 = alloca ptr, align 8
  %17 = alloca %struct.XlaJob, align 8
  %18 = alloca i64, align 8
  %19 = alloca i64, align 8
  %20 = alloca i64, align 8
  %21 = alloca i64, align 8
  %22 = alloca i64, align 8
  %23 = alloca %struct.XLA_FFI_ThreadPool_NumThreads_Args, align 8
  %24 = alloca %struct.XLA_FFI_Future_Create_Args, align 8
  %25 = alloca ptr, align 8
  %26 = alloca %struct.XLA_FFI_ThreadPool_Schedule_Args, align 8
  %27 = alloca i64, align 8
  %28 = alloca i64, align 8
  %29 = alloca i64, align 8
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  %30 = load ptr, ptr %4, align 8
  %31 = getelementptr inbounds %struct.XLA_FFI_CallFrame, ptr %30, i32 0, i32 1
  %32 = load ptr, ptr %31, align 8
  %33 = icmp ne ptr %32, null
  br i1 %33, label %34, label %66

34:
  %35 = load ptr, ptr %4, align 8
  %36 = getelementptr inbounds %struct.XLA_FFI_CallFrame, ptr %35, i32 0, i32 1
  %37 = load ptr, ptr %36, align 8
  %38 = getelementptr inbounds %struct.XLA_FFI_Extension_Base, ptr %37, i32 0, i32 1
  %39 = load i32, ptr %38, align 8
  %40 = icmp eq i32 %39, 1
  br i1 %40, label %41, label %66

41:
  %42 = load ptr, ptr %4, align 8
  %43 = getelementptr inbounds %struct.XLA_FFI_CallFrame, ptr %42, i32 0, i32 1
  %44 = load ptr, ptr %43, align 8
  %45 = getelementptr inbounds %struct.XLA_FFI_Metadata_Extension, ptr %44, i32 0, i32 1
  %46 = load ptr, ptr %45, align 8
  store ptr %46, ptr %6, align 8
  %47 = load i64, ptr @XLA_MAJOR, align 8
  %48 = trunc i64 %47 to i32
  %49 = load ptr, ptr %6, align 8
  %50 = getelementptr inbounds %struct.XLA_FFI_Metadata, ptr %49, i32 0, i32 1
  %51 = getelementptr inbounds %struct.XLA_FFI_Api_Version, ptr %50, i32 0, i32 2
  store i32 %48, ptr %51, align 8
  %52 = load i64, ptr @XLA_MINOR, align 8
  %53 = trunc i64 %52 to i32
  %54 = load ptr, ptr %6, align 8
  %55 = getelementptr inbounds %struct.XLA_FFI_Metadata, ptr %54, i32 0, i32 1
  %56 = getelementptr inbounds %struct.XLA_FFI_Api_Version, ptr %55, i32 0, i32 3
  store i32 %53, ptr %56, align 4
  %57 = load ptr, ptr %6, align 8
  %58 = getelementptr inbounds %struct.XLA_FFI_Metadata, ptr %57, i32 0, i32 2
  store i32 0, ptr %58, align 8
  %59 = load i64, ptr @XLA_HAS_STATE, align 8
  %60 = icmp ne i64 %59, 0
  br i1 %60, label %61, label %65

61:
  %62 = load ptr, ptr %6, align 8
  %63 = getelementptr inbounds %struct.XLA_FFI_Metadata, ptr %62, i32 0, i32 3
  %64 = getelementptr inbounds %struct.XLA_FFI_TypeId, ptr %63, i32 0, i32 0
  store i64 0, ptr %64, align 8
  br label %65

65:
  store ptr null, ptr %3, align 8
  br label %331

66:
  %67 = load ptr, ptr %4, align 8
  %68 = getelementptr inbounds %struct.XLA_FFI_CallFrame, ptr %67, i32 0, i32 4
  %69 = load i32, ptr %68, align 8
  %70 = icmp ne i32 %69, 3
  br i1 %70, label %71, label %72

71:
  store ptr null, ptr %3, align 8
  br label %331

72:
  %73 = load ptr, ptr %4, align 8
  %74 = getelementptr inbounds %struct.XLA_FFI_CallFrame, ptr %73, i32 0, i32 2
  %75 = load ptr, ptr %74, align 8
  store ptr %75, ptr %7, align 8
  %76 = load ptr, ptr %5, align 8
  %77 = getelementptr inbounds %struct.Slot, ptr %76, i32 0, i32 5
  %78 = load i64, ptr %77, align 8
  store i64 %78, ptr %8, align 8
  %79 = load ptr, ptr %5, align 8
  %80 = getelementptr inbounds %struct.Slot, ptr %79, i32 0, i32 6
  %81 = load i64, ptr %80, align 8
  store i64 %81, ptr %9, align 8
  %82 = load ptr, ptr %5, align 8
  %83 = getelementptr inbounds %struct.Slot, ptr %82, i32 0, i32 2
  %84 = load ptr, ptr %83, align 8
  %85 = icmp ne ptr %84, null
  %86 = xor i1 %85, true
  %87 = zext i1 %86 to i32
  %88 = sext i32 %87 to i64
  store i64 %88, ptr %10, align 8
  %89 = load ptr, ptr %4, align 8
  %90 = getelementptr inbounds %struct.XLA_FFI_CallFrame, ptr %89, i32 0, i32 0
  %91 = load i64, ptr %90, align 8
  %92 = icmp ult i64 %91, 168
  br i1 %92, label %109, label %93

93:
  %94 = load ptr, ptr %4, align 8
  %95 = getelementptr inbounds %struct.XLA_FFI_CallFrame, ptr %94, i32 0, i32 5
  %96 = getelementptr inbounds %struct.XLA_FFI_Args, ptr %95, i32 0, i32 2
  %97 = load i64, ptr %96, align 8
  %98 = load i64, ptr %8, align 8
  %99 = load i64, ptr %10, align 8
  %100 = add nsw i64 %98, %99
  %101 = icmp ne i64 %97, %100
  br i1 %101, label %109, label %102

102:
  %103 = load ptr, ptr %4, align 8
  %104 = getelementptr inbounds %struct.XLA_FFI_CallFrame, ptr %103, i32 0, i32 6
  %105 = getelementptr inbounds %struct.XLA_FFI_Rets, ptr %104, i32 0, i32 2
  %106 = load i64, ptr %105, align 8
  %107 = load i64, ptr %9, align 8
  %108 = icmp ne i64 %106, %107
  br i1 %108, label %109, label %118

109:
  %110 = getelementptr inbounds %struct.XLA_FFI_Error_Create_Args, ptr %11, i32 0, i32 0
  store i64 32, ptr %110, align 8
  %111 = getelementptr inbounds %struct.XLA_FFI_Error_Create_Args, ptr %11, i32 0, i32 1
  store ptr null, ptr %111, align 8
  %112 = getelementptr inbounds %struct.XLA_FFI_Error_Create_Args, ptr %11, i32 0, i32 2
  store ptr @.str.3, ptr %112, align 8
  %113 = getelementptr inbounds %struct.XLA_FFI_Error_Create_Args, ptr %11, i32 0, i32 3
  store i32 13, ptr %113, align 8
  %114 = load ptr, ptr %7, align 8
  %115 = getelementptr inbounds %struct.XLA_FFI_Api, ptr %114, i32 0, i32 4
  %116 = load ptr, ptr %115, align 8
  %117 = call ptr %116(ptr noundef %11)
  store ptr %117, ptr %3, align 8
  br label %331

118:
  %119 = load ptr, ptr %4, align 8
  %120 = getelementptr inbounds %struct.XLA_FFI_CallFrame, ptr %119, i32 0, i32 5
  %121 = getelementptr inbounds %struct.XLA_FFI_Args, ptr %120, i32 0, i32 4
  %122 = load ptr, ptr %121, align 8
  store ptr %122, ptr %12, align 8
  %123 = load ptr, ptr %4, align 8
  %124 = getelementptr inbounds %struct.XLA_FFI_CallFrame, ptr %123, i32 0, i32 6
  %125 = getelementptr inbounds %struct.XLA_FFI_Rets, ptr %124, i32 0, i32 4
  %126 = load ptr, ptr %125, align 8
  store ptr %126, ptr %13, align 8
  store i64 1, ptr %14, align 8
  store i64 0, ptr %15, align 8
  br label %127

127:
  %128 = load i64, ptr %15, align 8
  %129 = load ptr, ptr %13, align 8
  %130 = getelementptr inbounds ptr, ptr %129, i64 0
  %131 = load ptr, ptr %130, align 8
  %132 = getelementptr inbounds %struct.XLA_FFI_Buffer, ptr %131, i32 0, i32 4
  %133 = load i64, ptr %132, align 8
  %134 = icmp slt i64 %128, %133
  br i1 %134, label %135, label %149

135:
  %136 = load ptr, ptr %13, align 8
  %137 = getelementptr inbounds ptr, ptr %136, i64 0
  %138 = load ptr, ptr %137, align 8
  %139 = getelementptr inbounds %struct.XLA_FFI_Buffer, ptr %138, i32 0, i32 5
  %140 = load ptr, ptr %139, align 8
  %141 = load i64, ptr %15, align 8
  %142 = getelementptr inbounds i64, ptr %140, i64 %141
  %143 = load i64, ptr %142, align 8
  %144 = load i64, ptr %14, align 8
  %145 = mul nsw i64 %144, %143
  store i64 %145, ptr %14, align 8
  br label %146

146:
  %147 = load i64, ptr %15, align 8
  %148 = add nsw i64 %147, 1
  store i64 %148, ptr %15, align 8
  br label %127

149:
  %150 = load i64, ptr %10, align 8
  %151 = icmp ne i64 %150, 0
  br i1 %151, label %152, label %159

152:
  %153 = load ptr, ptr %12, align 8
  %154 = load i64, ptr %8, align 8
  %155 = getelementptr inbounds ptr, ptr %153, i64 %154
  %156 = load ptr, ptr %155, align 8
  %157 = getelementptr inbounds %struct.XLA_FFI_Buffer, ptr %156, i32 0, i32 3
  %158 = load ptr, ptr %157, align 8
  br label %163

159:
  %160 = load ptr, ptr %5, align 8
  %161 = getelementptr inbounds %struct.Slot, ptr %160, i32 0, i32 2
  %162 = load ptr, ptr %161, align 8
  br label %163

163:
  %164 = phi ptr [ %158, %152 ], [ %162, %159 ]
  store ptr %164, ptr %16, align 8
  %165 = getelementptr inbounds %struct.XlaJob, ptr %17, i32 0, i32 0
  %166 = load ptr, ptr %5, align 8
  %167 = getelementptr inbounds %struct.Slot, ptr %166, i32 0, i32 0
  %168 = load ptr, ptr %167, align 8
  store ptr %168, ptr %165, align 8
  %169 = getelementptr inbounds %struct.XlaJob, ptr %17, i32 0, i32 1
  %170 = load i64, ptr %14, align 8
  store i64 %170, ptr %169, align 8
  %171 = getelementptr inbounds %struct.XlaJob, ptr %17, i32 0, i32 2
  store i64 1, ptr %171, align 8
  %172 = getelementptr inbounds %struct.XlaJob, ptr %17, i32 0, i32 3
  store ptr null, ptr %172, align 8
  %173 = getelementptr inbounds %struct.XlaJob, ptr %17, i32 0, i32 4
  %174 = load ptr, ptr %7, align 8
  store ptr %174, ptr %173, align 8
  %175 = getelementptr inbounds %struct.XlaJob, ptr %17, i32 0, i32 5
  %176 = getelementptr inbounds %struct.Chunks, ptr %175, i32 0, i32 0
  store i64 0, ptr %176, align 8
  %177 = getelementptr inbounds %struct.Chunks, ptr %175, i32 0, i32 1
  %178 = load i64, ptr %14, align 8
  store i64 %178, ptr %177, align 8
  %179 = getelementptr inbounds %struct.Chunks, ptr %175, i32 0, i32 2
  %180 = load ptr, ptr %5, align 8
  %181 = getelementptr inbounds %struct.Slot, ptr %180, i32 0, i32 4
  %182 = load i64, ptr %181, align 8
  store i64 %182, ptr %179, align 8
  %183 = getelementptr inbounds %struct.Chunks, ptr %175, i32 0, i32 3
  %184 = load ptr, ptr %5, align 8
  %185 = getelementptr inbounds %struct.Slot, ptr %184, i32 0, i32 3
  %186 = load i64, ptr %185, align 8
  store i64 %186, ptr %183, align 8
  %187 = getelementptr inbounds %struct.Chunks, ptr %175, i32 0, i32 4
  %188 = load ptr, ptr %5, align 8
  %189 = getelementptr inbounds %struct.Slot, ptr %188, i32 0, i32 1
  %190 = load ptr, ptr %189, align 8
  store ptr %190, ptr %187, align 8
  %191 = getelementptr inbounds %struct.Chunks, ptr %175, i32 0, i32 5
  %192 = load ptr, ptr %16, align 8
  store ptr %192, ptr %191, align 8
  %193 = getelementptr inbounds %struct.XlaJob, ptr %17, i32 0, i32 6
  call void @llvm.memset.p0.i64(ptr align 8 %193, i8 0, i64 64, i1 false)
  %194 = getelementptr inbounds [8 x ptr], ptr %193, i64 0, i64 0
  store i64 0, ptr %18, align 8
  br label %195

195:
  %196 = load i64, ptr %18, align 8
  %197 = load i64, ptr %9, align 8
  %198 = icmp slt i64 %196, %197
  br i1 %198, label %199, label %212

199:
  %200 = load ptr, ptr %13, align 8
  %201 = load i64, ptr %18, align 8
  %202 = getelementptr inbounds ptr, ptr %200, i64 %201
  %203 = load ptr, ptr %202, align 8
  %204 = getelementptr inbounds %struct.XLA_FFI_Buffer, ptr %203, i32 0, i32 3
  %205 = load ptr, ptr %204, align 8
  %206 = getelementptr inbounds %struct.XlaJob, ptr %17, i32 0, i32 6
  %207 = load i64, ptr %18, align 8
  %208 = getelementptr inbounds [8 x ptr], ptr %206, i64 0, i64 %207
  store ptr %205, ptr %208, align 8
  br label %209

209:
  %210 = load i64, ptr %18, align 8
  %211 = add nsw i64 %210, 1
  store i64 %211, ptr %18, align 8
  br label %195

212:
  store i64 0, ptr %19, align 8
  br label %213

213:
  %214 = load i64, ptr %19, align 8
  %215 = load i64, ptr %8, align 8
  %216 = icmp slt i64 %214, %215
  br i1 %216, label %217, label %232

217:
  %218 = load ptr, ptr %12, align 8
  %219 = load i64, ptr %19, align 8
  %220 = getelementptr inbounds ptr, ptr %218, i64 %219
  %221 = load ptr, ptr %220, align 8
  %222 = getelementptr inbounds %struct.XLA_FFI_Buffer, ptr %221, i32 0, i32 3
  %223 = load ptr, ptr %222, align 8
  %224 = getelementptr inbounds %struct.XlaJob, ptr %17, i32 0, i32 6
  %225 = load i64, ptr %9, align 8
  %226 = load i64, ptr %19, align 8
  %227 = add nsw i64 %225, %226
  %228 = getelementptr inbounds [8 x ptr], ptr %224, i64 0, i64 %227
  store ptr %223, ptr %228, align 8
  br label %229

229:
  %230 = load i64, ptr %19, align 8
  %231 = add nsw i64 %230, 1
  store i64 %231, ptr %19, align 8
  br label %213

232:
  store i64 0, ptr %20, align 8
  %233 = load i64, ptr %14, align 8
  %234 = load ptr, ptr %5, align 8
  %235 = getelementptr inbounds %struct.Slot, ptr %234, i32 0, i32 4
  %236 = load i64, ptr %235, align 8
  %237 = icmp sgt i64 %233, %236
  br i1 %237, label %238, label %272

238:
  store i64 1, ptr %21, align 8
  %239 = load i64, ptr %14, align 8
  %240 = load ptr, ptr %5, align 8
  %241 = getelementptr inbounds %struct.Slot, ptr %240, i32 0, i32 4
  %242 = load i64, ptr %241, align 8
  %243 = add nsw i64 %239, %242
  %244 = sub nsw i64 %243, 1
  %245 = load ptr, ptr %5, align 8
  %246 = getelementptr inbounds %struct.Slot, ptr %245, i32 0, i32 4
  %247 = load i64, ptr %246, align 8
  %248 = sdiv i64 %244, %247
  store i64 %248, ptr %22, align 8
  %249 = getelementptr inbounds %struct.XLA_FFI_ThreadPool_NumThreads_Args, ptr %23, i32 0, i32 0
  store i64 32, ptr %249, align 8
  %250 = getelementptr inbounds %struct.XLA_FFI_ThreadPool_NumThreads_Args, ptr %23, i32 0, i32 1
  store ptr null, ptr %250, align 8
  %251 = getelementptr inbounds %struct.XLA_FFI_ThreadPool_NumThreads_Args, ptr %23, i32 0, i32 2
  %252 = load ptr, ptr %4, align 8
  %253 = getelementptr inbounds %struct.XLA_FFI_CallFrame, ptr %252, i32 0, i32 3
  %254 = load ptr, ptr %253, align 8
  store ptr %254, ptr %251, align 8
  %255 = getelementptr inbounds %struct.XLA_FFI_ThreadPool_NumThreads_Args, ptr %23, i32 0, i32 3
  store ptr %21, ptr %255, align 8
  %256 = load ptr, ptr %7, align 8
  %257 = load ptr, ptr %7, align 8
  %258 = getelementptr inbounds %struct.XLA_FFI_Api, ptr %257, i32 0, i32 16
  %259 = load ptr, ptr %258, align 8
  %260 = call ptr %259(ptr noundef %23)
  %261 = call i32 @destroy(ptr noundef %256, ptr noundef %260)
  %262 = load i64, ptr %21, align 8
  %263 = load i64, ptr %22, align 8
  %264 = icmp slt i64 %262, %263
  br i1 %264, label %265, label %267

265:
  %266 = load i64, ptr %21, align 8
  br label %269

267:
  %268 = load i64, ptr %22, align 8
  br label %269

269:
  %270 = phi i64 [ %266, %265 ], [ %268, %267 ]
  %271 = sub nsw i64 %270, 1
  store i64 %271, ptr %20, align 8
  br label %272

272:
  %273 = getelementptr inbounds %struct.XLA_FFI_Future_Create_Args, ptr %24, i32 0, i32 0
  store i64 24, ptr %273, align 8
  %274 = getelementptr inbounds %struct.XLA_FFI_Future_Create_Args, ptr %24, i32 0, i32 1
  store ptr null, ptr %274, align 8
  %275 = getelementptr inbounds %struct.XLA_FFI_Future_Create_Args, ptr %24, i32 0, i32 2
  store ptr null, ptr %275, align 8
  %276 = load i64, ptr %20, align 8
  %277 = icmp sle i64 %276, 0
  br i1 %277, label %286, label %278

278:
  %279 = load ptr, ptr %7, align 8
  %280 = load ptr, ptr %7, align 8
  %281 = getelementptr inbounds %struct.XLA_FFI_Api, ptr %280, i32 0, i32 17
  %282 = load ptr, ptr %281, align 8
  %283 = call ptr %282(ptr noundef %24)
  %284 = call i32 @destroy(ptr noundef %279, ptr noundef %283)
  %285 = icmp ne i32 %284, 0
  br i1 %285, label %286, label %287

286:
  call void @xla_run(ptr noundef %17)
  store ptr null, ptr %3, align 8
  br label %331

287:
  %288 = getelementptr inbounds %struct.XLA_FFI_Future_Create_Args, ptr %24, i32 0, i32 2
  %289 = load ptr, ptr %288, align 8
  %290 = load ptr, ptr %4, align 8
  %291 = getelementptr inbounds %struct.XLA_FFI_CallFrame, ptr %290, i32 0, i32 8
  store ptr %289, ptr %291, align 8
  %292 = getelementptr inbounds %struct.XlaJob, ptr %17, i32 0, i32 3
  store ptr %289, ptr %292, align 8
  %293 = load i64, ptr %20, align 8
  %294 = add nsw i64 %293, 1
  %295 = getelementptr inbounds %struct.XlaJob, ptr %17, i32 0, i32 2
  store i64 %294, ptr %295, align 8
  %296 = call ptr @malloc(i64 noundef 152)
  store ptr %296, ptr %25, align 8
  %297 = load ptr, ptr %25, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %297, ptr align 8 %17, i64 152, i1 false)
  %298 = getelementptr inbounds %struct.XLA_FFI_ThreadPool_Schedule_Args, ptr %26, i32 0, i32 0
  store i64 40, ptr %298, align 8
  %299 = getelementptr inbounds %struct.XLA_FFI_ThreadPool_Schedule_Args, ptr %26, i32 0, i32 1
  store ptr null, ptr %299, align 8
  %300 = getelementptr inbounds %struct.XLA_FFI_ThreadPool_Schedule_Args, ptr %26, i32 0, i32 2
  %301 = load ptr, ptr %4, align 8
  %302 = getelementptr inbounds %struct.XLA_FFI_CallFrame, ptr %301, i32 0, i32 3
  %303 = load ptr, ptr %302, align 8
  store ptr %303, ptr %300, align 8
  %304 = getelementptr inbounds %struct.XLA_FFI_ThreadPool_Schedule_Args, ptr %26, i32 0, i32 3
  store ptr @xla_task, ptr %304, align 8
  %305 = getelementptr inbounds %struct.XLA_FFI_ThreadPool_Schedule_Args, ptr %26, i32 0, i32 4
  %306 = load ptr, ptr %25, align 8
  store ptr %306, ptr %305, align 8
  store i64 0, ptr %27, align 8
  br label %307

307:
  %308 = load i64, ptr %27, align 8
  %309 = load i64, ptr %20, align 8
  %310 = icmp slt i64 %308, %309
  br i1 %310, label %311, label %329

311:
  %312 = load ptr, ptr %7, align 8
  %313 = load ptr, ptr %7, align 8
  %314 = getelementptr inbounds %struct.XLA_FFI_Api, ptr %313, i32 0, i32 15
  %315 = load ptr, ptr %314, align 8
  %316 = call ptr %315(ptr noundef %26)
  %317 = call i32 @destroy(ptr noundef %312, ptr noundef %316)
  %318 = icmp ne i32 %317, 0
  br i1 %318, label %319, label %325

319:
  %320 = load ptr, ptr %25, align 8
  %321 = getelementptr inbounds %struct.XlaJob, ptr %320, i32 0, i32 2
  store i64 1, ptr %28, align 8
  %322 = load i64, ptr %28, align 8
  %323 = atomicrmw sub ptr %321, i64 %322 acq_rel, align 8
  store i64 %323, ptr %29, align 8
  %324 = load i64, ptr %29, align 8
  br label %325

325:
  br label %326

326:
  %327 = load i64, ptr %27, align 8
  %328 = add nsw i64 %327, 1
  store i64 %328, ptr %27, align 8
  br label %307

329:
  %330 = load ptr, ptr %25, align 8
  call void @xla_task(ptr noundef %330)
  store ptr null, ptr %3, align 8
  br label %331

331:
  %332 = load ptr, ptr %3, align 8
  ret ptr %332
}

define internal i32 @destroy(ptr noundef %0, ptr noundef %1) nounwind {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  %5 = alloca %struct.XLA_FFI_Error_Destroy_Args, align 8
  store ptr %0, ptr %3, align 8
  store ptr %1, ptr %4, align 8
  %6 = getelementptr inbounds %struct.XLA_FFI_Error_Destroy_Args, ptr %5, i32 0, i32 0
  store i64 24, ptr %6, align 8
  %7 = getelementptr inbounds %struct.XLA_FFI_Error_Destroy_Args, ptr %5, i32 0, i32 1
  store ptr null, ptr %7, align 8
  %8 = getelementptr inbounds %struct.XLA_FFI_Error_Destroy_Args, ptr %5, i32 0, i32 2
  %9 = load ptr, ptr %4, align 8
  store ptr %9, ptr %8, align 8
  %10 = load ptr, ptr %4, align 8
  %11 = icmp ne ptr %10, null
  br i1 %11, label %12, label %16

12:
  %13 = load ptr, ptr %3, align 8
  %14 = getelementptr inbounds %struct.XLA_FFI_Api, ptr %13, i32 0, i32 6
  %15 = load ptr, ptr %14, align 8
  call void %15(ptr noundef %5)
  br label %16

16:
  %17 = load ptr, ptr %4, align 8
  %18 = icmp ne ptr %17, null
  %19 = zext i1 %18 to i32
  ret i32 %19
}

define internal void @xla_run(ptr noundef %0) noinline nounwind {
  %2 = alloca ptr, align 8
  %3 = alloca i64, align 8
  %4 = alloca i64, align 8
  %5 = alloca i64, align 8
  %6 = alloca i64, align 8
  %7 = alloca %struct.XLA_FFI_Future_SetAvailable_Args, align 8
  store ptr %0, ptr %2, align 8
  %8 = call i64 @allow_subnormals()
  store i64 %8, ptr %3, align 8
  %9 = load ptr, ptr %2, align 8
  %10 = getelementptr inbounds %struct.XlaJob, ptr %9, i32 0, i32 0
  %11 = load ptr, ptr %10, align 8
  %12 = load ptr, ptr %2, align 8
  %13 = getelementptr inbounds %struct.XlaJob, ptr %12, i32 0, i32 5
  %14 = call i64 %11(ptr noundef %13)
  store i64 %14, ptr %4, align 8
  %15 = load i64, ptr %3, align 8
  call void @set_mode(i64 noundef %15)
  %16 = load i64, ptr %4, align 8
  %17 = icmp ne i64 %16, 0
  br i1 %17, label %18, label %49

18:
  %19 = load ptr, ptr %2, align 8
  %20 = getelementptr inbounds %struct.XlaJob, ptr %19, i32 0, i32 1
  %21 = load i64, ptr %4, align 8
  store i64 %21, ptr %5, align 8
  %22 = load i64, ptr %5, align 8
  %23 = atomicrmw sub ptr %20, i64 %22 acq_rel, align 8
  store i64 %23, ptr %6, align 8
  %24 = load i64, ptr %6, align 8
  %25 = load i64, ptr %4, align 8
  %26 = icmp eq i64 %24, %25
  br i1 %26, label %27, label %49

27:
  %28 = load ptr, ptr %2, align 8
  %29 = getelementptr inbounds %struct.XlaJob, ptr %28, i32 0, i32 3
  %30 = load ptr, ptr %29, align 8
  %31 = icmp ne ptr %30, null
  br i1 %31, label %32, label %49

32:
  %33 = getelementptr inbounds %struct.XLA_FFI_Future_SetAvailable_Args, ptr %7, i32 0, i32 0
  store i64 24, ptr %33, align 8
  %34 = getelementptr inbounds %struct.XLA_FFI_Future_SetAvailable_Args, ptr %7, i32 0, i32 1
  store ptr null, ptr %34, align 8
  %35 = getelementptr inbounds %struct.XLA_FFI_Future_SetAvailable_Args, ptr %7, i32 0, i32 2
  %36 = load ptr, ptr %2, align 8
  %37 = getelementptr inbounds %struct.XlaJob, ptr %36, i32 0, i32 3
  %38 = load ptr, ptr %37, align 8
  store ptr %38, ptr %35, align 8
  %39 = load ptr, ptr %2, align 8
  %40 = getelementptr inbounds %struct.XlaJob, ptr %39, i32 0, i32 4
  %41 = load ptr, ptr %40, align 8
  %42 = load ptr, ptr %2, align 8
  %43 = getelementptr inbounds %struct.XlaJob, ptr %42, i32 0, i32 4
  %44 = load ptr, ptr %43, align 8
  %45 = getelementptr inbounds %struct.XLA_FFI_Api, ptr %44, i32 0, i32 18
  %46 = load ptr, ptr %45, align 8
  %47 = call ptr %46(ptr noundef %7)
  %48 = call i32 @destroy(ptr noundef %41, ptr noundef %47)
  br label %49

49:
  ret void
}

declare ptr @malloc(i64 noundef)

declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg) nounwind

define internal void @xla_task(ptr noundef %0) nounwind {
  %2 = alloca ptr, align 8
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  %5 = alloca i64, align 8
  store ptr %0, ptr %2, align 8
  %6 = load ptr, ptr %2, align 8
  store ptr %6, ptr %3, align 8
  %7 = load ptr, ptr %3, align 8
  call void @xla_run(ptr noundef %7)
  %8 = load ptr, ptr %3, align 8
  %9 = getelementptr inbounds %struct.XlaJob, ptr %8, i32 0, i32 2
  store i64 1, ptr %4, align 8
  %10 = load i64, ptr %4, align 8
  %11 = atomicrmw sub ptr %9, i64 %10 acq_rel, align 8
  store i64 %11, ptr %5, align 8
  %12 = load i64, ptr %5, align 8
  %13 = icmp eq i64 %12, 1
  br i1 %13, label %14, label %16

14:
  %15 = load ptr, ptr %3, align 8
  call void @free(ptr noundef %15)
  br label %16

16:
  ret void
}

declare void @free(ptr noundef)

declare void @TF_GetInput(ptr noundef, i32 noundef, ptr noundef, ptr noundef)

declare i32 @TF_NumDims(ptr noundef)

declare i64 @TF_Dim(ptr noundef, i32 noundef)

declare i64 @TF_TensorByteSize(ptr noundef)

declare ptr @TF_AllocateOutput(ptr noundef, i32 noundef, i32 noundef, ptr noundef, i32 noundef, i64 noundef, ptr noundef)

declare i32 @sem_post(ptr noundef)

declare i32 @sched_yield()

define internal i64 @ask(ptr noundef %0, i64 noundef %1, ptr noundef %2) nounwind {
  %4 = alloca ptr, align 8
  %5 = alloca i64, align 8
  %6 = alloca ptr, align 8
  %7 = alloca i64, align 8
  store ptr %0, ptr %4, align 8
  store i64 %1, ptr %5, align 8
  store ptr %2, ptr %6, align 8
  store i64 0, ptr %7, align 8
  %8 = load i64, ptr %5, align 8
  %9 = load ptr, ptr %4, align 8
  %10 = getelementptr inbounds %struct.Call, ptr %9, i32 0, i32 3
  %11 = load ptr, ptr %10, align 8
  %12 = load ptr, ptr %6, align 8
  %13 = load ptr, ptr %4, align 8
  %14 = getelementptr inbounds %struct.Call, ptr %13, i32 0, i32 1
  %15 = load ptr, ptr %14, align 8
  %16 = load ptr, ptr %4, align 8
  %17 = getelementptr inbounds %struct.Call, ptr %16, i32 0, i32 2
  %18 = load i64, ptr %17, align 8
  call void @serve(i64 noundef %8, ptr noundef %11, ptr noundef %12, ptr noundef %15, i64 noundef %18, ptr noundef %7)
  %19 = load i64, ptr %7, align 8
  ret i64 %19
}

define internal i64 @compute(ptr noundef %0, ptr noundef %1, i64 noundef %2) alwaysinline nounwind {
  %4 = alloca i64, align 8
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca i64, align 8
  %8 = alloca i64, align 8
  %9 = alloca i64, align 8
  %10 = alloca i64, align 8
  %11 = alloca i64, align 8
  %12 = alloca i64, align 8
  store ptr %0, ptr %5, align 8
  store ptr %1, ptr %6, align 8
  store i64 %2, ptr %7, align 8
  %13 = load ptr, ptr %5, align 8
  %14 = load i64, ptr %7, align 8
  %15 = call i64 @depends(ptr noundef %13, i64 noundef %14)
  %16 = icmp ne i64 %15, 0
  br i1 %16, label %17, label %57

17:
  store i64 0, ptr %8, align 8
  br label %18

18:
  %19 = load i64, ptr %8, align 8
  %20 = load ptr, ptr %5, align 8
  %21 = getelementptr inbounds %struct.Call, ptr %20, i32 0, i32 2
  %22 = load i64, ptr %21, align 8
  %23 = icmp slt i64 %19, %22
  br i1 %23, label %24, label %56

24:
  store i64 0, ptr %9, align 8
  br label %25

25:
  %26 = load i64, ptr %9, align 8
  %27 = load i64, ptr %7, align 8
  %28 = icmp slt i64 %26, %27
  br i1 %28, label %29, label %42

29:
  %30 = load ptr, ptr %5, align 8
  %31 = load i64, ptr %9, align 8
  %32 = load i64, ptr %8, align 8
  %33 = call ptr @element(ptr noundef %30, i64 noundef %31, i64 noundef %32)
  %34 = load ptr, ptr %5, align 8
  %35 = getelementptr inbounds %struct.Call, ptr %34, i32 0, i32 5
  %36 = load ptr, ptr %35, align 8
  %37 = load i64, ptr %9, align 8
  %38 = getelementptr inbounds ptr, ptr %36, i64 %37
  store ptr %33, ptr %38, align 8
  br label %39

39:
  %40 = load i64, ptr %9, align 8
  %41 = add nsw i64 %40, 1
  store i64 %41, ptr %9, align 8
  br label %25

42:
  %43 = load ptr, ptr %6, align 8
  %44 = getelementptr inbounds %struct.Record, ptr %43, i32 0, i32 0
  %45 = load ptr, ptr %44, align 8
  %46 = load ptr, ptr %5, align 8
  %47 = getelementptr inbounds %struct.Call, ptr %46, i32 0, i32 5
  %48 = load ptr, ptr %47, align 8
  %49 = load ptr, ptr %6, align 8
  %50 = getelementptr inbounds %struct.Record, ptr %49, i32 0, i32 1
  %51 = load ptr, ptr %50, align 8
  %52 = load i64, ptr %7, align 8
  call void @call(ptr noundef %45, ptr noundef %48, ptr noundef %51, i64 noundef 1, i64 noundef %52)
  br label %53

53:
  %54 = load i64, ptr %8, align 8
  %55 = add nsw i64 %54, 1
  store i64 %55, ptr %8, align 8
  br label %18

56:
  store i64 1, ptr %4, align 8
  br label %164

57:
  store i64 1, ptr %10, align 8
  store i64 0, ptr %11, align 8
  br label %58

58:
  %59 = load i64, ptr %11, align 8
  %60 = load i64, ptr %7, align 8
  %61 = icmp slt i64 %59, %60
  br i1 %61, label %62, label %77

62:
  %63 = load ptr, ptr %5, align 8
  %64 = load i64, ptr %11, align 8
  %65 = call i64 @step_of(ptr noundef %63, i64 noundef %64)
  %66 = load ptr, ptr %5, align 8
  %67 = load i64, ptr %11, align 8
  %68 = call i64 @size_of(ptr noundef %66, i64 noundef %67)
  %69 = icmp eq i64 %65, %68
  %70 = zext i1 %69 to i32
  %71 = sext i32 %70 to i64
  %72 = load i64, ptr %10, align 8
  %73 = and i64 %72, %71
  store i64 %73, ptr %10, align 8
  br label %74

74:
  %75 = load i64, ptr %11, align 8
  %76 = add nsw i64 %75, 1
  store i64 %76, ptr %11, align 8
  br label %58

77:
  %78 = load i64, ptr %10, align 8
  %79 = icmp ne i64 %78, 0
  br i1 %79, label %89, label %80

80:
  %81 = load ptr, ptr %5, align 8
  %82 = getelementptr inbounds %struct.Call, ptr %81, i32 0, i32 2
  %83 = load i64, ptr %82, align 8
  %84 = icmp sgt i64 %83, 1
  br i1 %84, label %85, label %89

85:
  %86 = load ptr, ptr %5, align 8
  %87 = load ptr, ptr %6, align 8
  %88 = load i64, ptr %7, align 8
  call void @in_blocks(ptr noundef %86, ptr noundef %87, i64 noundef %88)
  store i64 1, ptr %4, align 8
  br label %164

89:
  store i64 0, ptr %12, align 8
  br label %90

90:
  %91 = load i64, ptr %12, align 8
  %92 = load i64, ptr %7, align 8
  %93 = icmp slt i64 %91, %92
  br i1 %93, label %94, label %106

94:
  %95 = load ptr, ptr %5, align 8
  %96 = load i64, ptr %12, align 8
  %97 = call ptr @element(ptr noundef %95, i64 noundef %96, i64 noundef 0)
  %98 = load ptr, ptr %5, align 8
  %99 = getelementptr inbounds %struct.Call, ptr %98, i32 0, i32 5
  %100 = load ptr, ptr %99, align 8
  %101 = load i64, ptr %12, align 8
  %102 = getelementptr inbounds ptr, ptr %100, i64 %101
  store ptr %97, ptr %102, align 8
  br label %103

103:
  %104 = load i64, ptr %12, align 8
  %105 = add nsw i64 %104, 1
  store i64 %105, ptr %12, align 8
  br label %90

106:
  %107 = load ptr, ptr %5, align 8
  %108 = getelementptr inbounds %struct.Call, ptr %107, i32 0, i32 2
  %109 = load i64, ptr %108, align 8
  %110 = load ptr, ptr %5, align 8
  %111 = getelementptr inbounds %struct.Call, ptr %110, i32 0, i32 3
  %112 = load ptr, ptr %111, align 8
  %113 = getelementptr inbounds %struct.Data, ptr %112, i32 0, i32 4
  %114 = load i64, ptr %113, align 8
  %115 = icmp sge i64 %109, %114
  br i1 %115, label %116, label %150

116:
  %117 = load ptr, ptr %5, align 8
  %118 = getelementptr inbounds %struct.Call, ptr %117, i32 0, i32 3
  %119 = load ptr, ptr %118, align 8
  %120 = getelementptr inbounds %struct.Data, ptr %119, i32 0, i32 5
  %121 = load ptr, ptr %120, align 8
  %122 = load i64, ptr %121, align 8
  %123 = icmp sgt i64 %122, 1
  br i1 %123, label %124, label %150

124:
  %125 = load ptr, ptr %6, align 8
  %126 = getelementptr inbounds %struct.Record, ptr %125, i32 0, i32 0
  %127 = load ptr, ptr %126, align 8
  %128 = load ptr, ptr %5, align 8
  %129 = getelementptr inbounds %struct.Call, ptr %128, i32 0, i32 4
  %130 = load ptr, ptr %129, align 8
  %131 = getelementptr inbounds ptr, ptr %130, i64 0
  store ptr %127, ptr %131, align 8
  %132 = load ptr, ptr %6, align 8
  %133 = getelementptr inbounds %struct.Record, ptr %132, i32 0, i32 1
  %134 = load ptr, ptr %133, align 8
  %135 = load ptr, ptr %5, align 8
  %136 = getelementptr inbounds %struct.Call, ptr %135, i32 0, i32 4
  %137 = load ptr, ptr %136, align 8
  %138 = getelementptr inbounds ptr, ptr %137, i64 1
  store ptr %134, ptr %138, align 8
  %139 = load i64, ptr %7, align 8
  %140 = inttoptr i64 %139 to ptr
  %141 = load ptr, ptr %5, align 8
  %142 = getelementptr inbounds %struct.Call, ptr %141, i32 0, i32 4
  %143 = load ptr, ptr %142, align 8
  %144 = getelementptr inbounds ptr, ptr %143, i64 2
  store ptr %140, ptr %144, align 8
  %145 = load ptr, ptr %5, align 8
  %146 = load ptr, ptr %5, align 8
  %147 = getelementptr inbounds %struct.Call, ptr %146, i32 0, i32 4
  %148 = load ptr, ptr %147, align 8
  %149 = call i64 @ask(ptr noundef %145, i64 noundef 2, ptr noundef %148)
  store i64 %149, ptr %4, align 8
  br label %164

150:
  %151 = load ptr, ptr %6, align 8
  %152 = getelementptr inbounds %struct.Record, ptr %151, i32 0, i32 0
  %153 = load ptr, ptr %152, align 8
  %154 = load ptr, ptr %5, align 8
  %155 = getelementptr inbounds %struct.Call, ptr %154, i32 0, i32 5
  %156 = load ptr, ptr %155, align 8
  %157 = load ptr, ptr %6, align 8
  %158 = getelementptr inbounds %struct.Record, ptr %157, i32 0, i32 1
  %159 = load ptr, ptr %158, align 8
  %160 = load ptr, ptr %5, align 8
  %161 = getelementptr inbounds %struct.Call, ptr %160, i32 0, i32 2
  %162 = load i64, ptr %161, align 8
  %163 = load i64, ptr %7, align 8
  call void @call(ptr noundef %153, ptr noundef %156, ptr noundef %159, i64 noundef %162, i64 noundef %163)
  store i64 1, ptr %4, align 8
  br label %164

164:
  %165 = load i64, ptr %4, align 8
  ret i64 %165
}

declare void @serve(i64 noundef, ptr noundef, ptr noundef, ptr noundef, i64 noundef, ptr noundef)

define internal i64 @depends(ptr noundef %0, i64 noundef %1) alwaysinline nounwind {
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  %5 = alloca i64, align 8
  %6 = alloca i64, align 8
  %7 = alloca i64, align 8
  %8 = alloca i64, align 8
  store ptr %0, ptr %3, align 8
  store i64 %1, ptr %4, align 8
  store i64 0, ptr %5, align 8
  store i64 0, ptr %6, align 8
  br label %9

9:
  %10 = load i64, ptr %6, align 8
  %11 = load i64, ptr @RESULTS, align 8
  %12 = icmp slt i64 %10, %11
  br i1 %12, label %13, label %55

13:
  %14 = load ptr, ptr %3, align 8
  %15 = load i64, ptr %6, align 8
  %16 = call i64 @step_of(ptr noundef %14, i64 noundef %15)
  store i64 %16, ptr %7, align 8
  %17 = load i64, ptr %7, align 8
  %18 = icmp eq i64 %17, 0
  %19 = zext i1 %18 to i32
  %20 = sext i32 %19 to i64
  %21 = load i64, ptr %5, align 8
  %22 = or i64 %21, %20
  store i64 %22, ptr %5, align 8
  %23 = load i64, ptr @RESULTS, align 8
  store i64 %23, ptr %8, align 8
  br label %24

24:
  %25 = load i64, ptr %8, align 8
  %26 = load i64, ptr %4, align 8
  %27 = icmp slt i64 %25, %26
  br i1 %27, label %28, label %51

28:
  %29 = load i64, ptr %7, align 8
  %30 = load ptr, ptr %3, align 8
  %31 = load i64, ptr %8, align 8
  %32 = call i64 @step_of(ptr noundef %30, i64 noundef %31)
  %33 = icmp eq i64 %29, %32
  br i1 %33, label %34, label %47

34:
  %35 = load ptr, ptr %3, align 8
  %36 = load i64, ptr %6, align 8
  %37 = call ptr @element(ptr noundef %35, i64 noundef %36, i64 noundef 0)
  %38 = load ptr, ptr %3, align 8
  %39 = load i64, ptr %8, align 8
  %40 = call ptr @element(ptr noundef %38, i64 noundef %39, i64 noundef 0)
  %41 = ptrtoint ptr %37 to i64
  %42 = ptrtoint ptr %40 to i64
  %43 = sub i64 %41, %42
  %44 = load i64, ptr %7, align 8
  %45 = icmp eq i64 %43, %44
  br i1 %45, label %46, label %47

46:
  store i64 1, ptr %5, align 8
  br label %47

47:
  br label %48

48:
  %49 = load i64, ptr %8, align 8
  %50 = add nsw i64 %49, 1
  store i64 %50, ptr %8, align 8
  br label %24

51:
  br label %52

52:
  %53 = load i64, ptr %6, align 8
  %54 = add nsw i64 %53, 1
  store i64 %54, ptr %6, align 8
  br label %9

55:
  %56 = load i64, ptr %5, align 8
  %57 = icmp ne i64 %56, 0
  br i1 %57, label %58, label %63

58:
  %59 = load ptr, ptr %3, align 8
  %60 = getelementptr inbounds %struct.Call, ptr %59, i32 0, i32 2
  %61 = load i64, ptr %60, align 8
  %62 = icmp sgt i64 %61, 1
  br label %63

63:
  %64 = phi i1 [ false, %55 ], [ %62, %58 ]
  %65 = zext i1 %64 to i32
  %66 = sext i32 %65 to i64
  ret i64 %66
}

define internal ptr @element(ptr noundef %0, i64 noundef %1, i64 noundef %2) alwaysinline nounwind {
  %4 = alloca ptr, align 8
  %5 = alloca i64, align 8
  %6 = alloca i64, align 8
  store ptr %0, ptr %4, align 8
  store i64 %1, ptr %5, align 8
  store i64 %2, ptr %6, align 8
  %7 = load ptr, ptr %4, align 8
  %8 = getelementptr inbounds %struct.Call, ptr %7, i32 0, i32 0
  %9 = load ptr, ptr %8, align 8
  %10 = load i64, ptr %5, align 8
  %11 = call i64 @place_of(i64 noundef %10)
  %12 = getelementptr inbounds ptr, ptr %9, i64 %11
  %13 = load ptr, ptr %12, align 8
  %14 = load i64, ptr %6, align 8
  %15 = load ptr, ptr %4, align 8
  %16 = getelementptr inbounds %struct.Call, ptr %15, i32 0, i32 1
  %17 = load ptr, ptr %16, align 8
  %18 = load i64, ptr %5, align 8
  %19 = call i64 @place_of(i64 noundef %18)
  %20 = getelementptr inbounds i64, ptr %17, i64 %19
  %21 = load i64, ptr %20, align 8
  %22 = mul nsw i64 %14, %21
  %23 = getelementptr inbounds i8, ptr %13, i64 %22
  ret ptr %23
}

define internal i64 @step_of(ptr noundef %0, i64 noundef %1) alwaysinline nounwind {
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  store ptr %0, ptr %3, align 8
  store i64 %1, ptr %4, align 8
  %5 = load ptr, ptr %3, align 8
  %6 = getelementptr inbounds %struct.Call, ptr %5, i32 0, i32 1
  %7 = load ptr, ptr %6, align 8
  %8 = load i64, ptr %4, align 8
  %9 = call i64 @place_of(i64 noundef %8)
  %10 = getelementptr inbounds i64, ptr %7, i64 %9
  %11 = load i64, ptr %10, align 8
  ret i64 %11
}

define internal i64 @size_of(ptr noundef %0, i64 noundef %1) alwaysinline nounwind {
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  store ptr %0, ptr %3, align 8
  store i64 %1, ptr %4, align 8
  %5 = load i64, ptr %4, align 8
  %6 = load i64, ptr @RESULTS, align 8
  %7 = load i64, ptr @INPUTS, align 8
  %8 = add nsw i64 %6, %7
  %9 = icmp slt i64 %5, %8
  br i1 %9, label %10, label %16

10:
  %11 = load ptr, ptr %3, align 8
  %12 = getelementptr inbounds %struct.Call, ptr %11, i32 0, i32 3
  %13 = load ptr, ptr %12, align 8
  %14 = getelementptr inbounds %struct.Data, ptr %13, i32 0, i32 3
  %15 = load i64, ptr %14, align 8
  br label %17

16:
  br label %17

17:
  %18 = phi i64 [ %15, %10 ], [ 8, %16 ]
  ret i64 %18
}

define internal void @in_blocks(ptr noundef %0, ptr noundef %1, i64 noundef %2) alwaysinline nounwind {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i64, align 8
  %7 = alloca i64, align 8
  %8 = alloca i64, align 8
  %9 = alloca i64, align 8
  %10 = alloca i64, align 8
  %11 = alloca i64, align 8
  %12 = alloca i64, align 8
  %13 = alloca i64, align 8
  %14 = alloca i64, align 8
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  store i64 %2, ptr %6, align 8
  store i64 0, ptr %7, align 8
  br label %15

15:
  %16 = load i64, ptr %7, align 8
  %17 = load ptr, ptr %4, align 8
  %18 = getelementptr inbounds %struct.Call, ptr %17, i32 0, i32 2
  %19 = load i64, ptr %18, align 8
  %20 = icmp slt i64 %16, %19
  br i1 %20, label %21, label %145

21:
  %22 = load ptr, ptr %4, align 8
  %23 = getelementptr inbounds %struct.Call, ptr %22, i32 0, i32 2
  %24 = load i64, ptr %23, align 8
  %25 = load i64, ptr %7, align 8
  %26 = sub nsw i64 %24, %25
  %27 = icmp slt i64 512, %26
  br i1 %27, label %28, label %29

28:
  br label %35

29:
  %30 = load ptr, ptr %4, align 8
  %31 = getelementptr inbounds %struct.Call, ptr %30, i32 0, i32 2
  %32 = load i64, ptr %31, align 8
  %33 = load i64, ptr %7, align 8
  %34 = sub nsw i64 %32, %33
  br label %35

35:
  %36 = phi i64 [ 512, %28 ], [ %34, %29 ]
  store i64 %36, ptr %8, align 8
  store i64 0, ptr %9, align 8
  br label %37

37:
  %38 = load i64, ptr %9, align 8
  %39 = load i64, ptr %6, align 8
  %40 = icmp slt i64 %38, %39
  br i1 %40, label %41, label %96

41:
  %42 = load ptr, ptr %4, align 8
  %43 = load i64, ptr %9, align 8
  %44 = call i64 @step_of(ptr noundef %42, i64 noundef %43)
  store i64 %44, ptr %10, align 8
  %45 = load ptr, ptr %4, align 8
  %46 = load i64, ptr %9, align 8
  %47 = call i64 @size_of(ptr noundef %45, i64 noundef %46)
  store i64 %47, ptr %11, align 8
  %48 = load i64, ptr %10, align 8
  %49 = load i64, ptr %11, align 8
  %50 = icmp eq i64 %48, %49
  br i1 %50, label %51, label %56

51:
  %52 = load ptr, ptr %4, align 8
  %53 = load i64, ptr %9, align 8
  %54 = load i64, ptr %7, align 8
  %55 = call ptr @element(ptr noundef %52, i64 noundef %53, i64 noundef %54)
  br label %63

56:
  %57 = load ptr, ptr %4, align 8
  %58 = getelementptr inbounds %struct.Call, ptr %57, i32 0, i32 6
  %59 = load ptr, ptr %58, align 8
  %60 = load i64, ptr %9, align 8
  %61 = getelementptr inbounds [512 x i64], ptr %59, i64 %60
  %62 = getelementptr inbounds [512 x i64], ptr %61, i64 0, i64 0
  br label %63

63:
  %64 = phi ptr [ %55, %51 ], [ %62, %56 ]
  %65 = load ptr, ptr %4, align 8
  %66 = getelementptr inbounds %struct.Call, ptr %65, i32 0, i32 5
  %67 = load ptr, ptr %66, align 8
  %68 = load i64, ptr %9, align 8
  %69 = getelementptr inbounds ptr, ptr %67, i64 %68
  store ptr %64, ptr %69, align 8
  %70 = load i64, ptr %10, align 8
  %71 = load i64, ptr %11, align 8
  %72 = icmp ne i64 %70, %71
  br i1 %72, label %73, label %92

73:
  %74 = load i64, ptr %9, align 8
  %75 = load i64, ptr @RESULTS, align 8
  %76 = icmp sge i64 %74, %75
  br i1 %76, label %77, label %92

77:
  %78 = load ptr, ptr %4, align 8
  %79 = load i64, ptr %9, align 8
  %80 = load i64, ptr %7, align 8
  %81 = call ptr @element(ptr noundef %78, i64 noundef %79, i64 noundef %80)
  %82 = load i64, ptr %10, align 8
  %83 = load ptr, ptr %4, align 8
  %84 = getelementptr inbounds %struct.Call, ptr %83, i32 0, i32 5
  %85 = load ptr, ptr %84, align 8
  %86 = load i64, ptr %9, align 8
  %87 = getelementptr inbounds ptr, ptr %85, i64 %86
  %88 = load ptr, ptr %87, align 8
  %89 = load i64, ptr %11, align 8
  %90 = load i64, ptr %11, align 8
  %91 = load i64, ptr %8, align 8
  call void @copy(ptr noundef %81, i64 noundef %82, ptr noundef %88, i64 noundef %89, i64 noundef %90, i64 noundef %91)
  br label %92

92:
  br label %93

93:
  %94 = load i64, ptr %9, align 8
  %95 = add nsw i64 %94, 1
  store i64 %95, ptr %9, align 8
  br label %37

96:
  %97 = load ptr, ptr %5, align 8
  %98 = getelementptr inbounds %struct.Record, ptr %97, i32 0, i32 0
  %99 = load ptr, ptr %98, align 8
  %100 = load ptr, ptr %4, align 8
  %101 = getelementptr inbounds %struct.Call, ptr %100, i32 0, i32 5
  %102 = load ptr, ptr %101, align 8
  %103 = load ptr, ptr %5, align 8
  %104 = getelementptr inbounds %struct.Record, ptr %103, i32 0, i32 1
  %105 = load ptr, ptr %104, align 8
  %106 = load i64, ptr %8, align 8
  %107 = load i64, ptr %6, align 8
  call void @call(ptr noundef %99, ptr noundef %102, ptr noundef %105, i64 noundef %106, i64 noundef %107)
  store i64 0, ptr %12, align 8
  br label %108

108:
  %109 = load i64, ptr %12, align 8
  %110 = load i64, ptr @RESULTS, align 8
  %111 = icmp slt i64 %109, %110
  br i1 %111, label %112, label %141

112:
  %113 = load ptr, ptr %4, align 8
  %114 = load i64, ptr %12, align 8
  %115 = call i64 @step_of(ptr noundef %113, i64 noundef %114)
  store i64 %115, ptr %13, align 8
  %116 = load ptr, ptr %4, align 8
  %117 = load i64, ptr %12, align 8
  %118 = call i64 @size_of(ptr noundef %116, i64 noundef %117)
  store i64 %118, ptr %14, align 8
  %119 = load i64, ptr %13, align 8
  %120 = load i64, ptr %14, align 8
  %121 = icmp ne i64 %119, %120
  br i1 %121, label %122, label %137

122:
  %123 = load ptr, ptr %4, align 8
  %124 = getelementptr inbounds %struct.Call, ptr %123, i32 0, i32 6
  %125 = load ptr, ptr %124, align 8
  %126 = load i64, ptr %12, align 8
  %127 = getelementptr inbounds [512 x i64], ptr %125, i64 %126
  %128 = getelementptr inbounds [512 x i64], ptr %127, i64 0, i64 0
  %129 = load i64, ptr %14, align 8
  %130 = load ptr, ptr %4, align 8
  %131 = load i64, ptr %12, align 8
  %132 = load i64, ptr %7, align 8
  %133 = call ptr @element(ptr noundef %130, i64 noundef %131, i64 noundef %132)
  %134 = load i64, ptr %13, align 8
  %135 = load i64, ptr %14, align 8
  %136 = load i64, ptr %8, align 8
  call void @copy(ptr noundef %128, i64 noundef %129, ptr noundef %133, i64 noundef %134, i64 noundef %135, i64 noundef %136)
  br label %137

137:
  br label %138

138:
  %139 = load i64, ptr %12, align 8
  %140 = add nsw i64 %139, 1
  store i64 %140, ptr %12, align 8
  br label %108

141:
  br label %142

142:
  %143 = load i64, ptr %7, align 8
  %144 = add nsw i64 %143, 512
  store i64 %144, ptr %7, align 8
  br label %15

145:
  ret void
}

define internal i64 @place_of(i64 noundef %0) alwaysinline nounwind {
  %2 = alloca i64, align 8
  store i64 %0, ptr %2, align 8
  %3 = load i64, ptr %2, align 8
  %4 = load i64, ptr @RESULTS, align 8
  %5 = icmp slt i64 %3, %4
  br i1 %5, label %6, label %12

6:
  %7 = load i64, ptr @INPUTS, align 8
  %8 = load i64, ptr @PARAMETERS, align 8
  %9 = add nsw i64 %7, %8
  %10 = load i64, ptr %2, align 8
  %11 = add nsw i64 %9, %10
  br label %16

12:
  %13 = load i64, ptr %2, align 8
  %14 = load i64, ptr @RESULTS, align 8
  %15 = sub nsw i64 %13, %14
  br label %16

16:
  %17 = phi i64 [ %11, %6 ], [ %15, %12 ]
  ret i64 %17
}

declare void @Py_IncRef(ptr noundef)

declare ptr @PyObject_Vectorcall(ptr noundef, ptr noundef, i64 noundef, ptr noundef)

declare void @Py_DecRef(ptr noundef)
