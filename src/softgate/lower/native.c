/* The functions that XLA, TensorFlow, NumPy and threads call, and that call kernels; and one that
   Python calls.

tools/compile_native.py translates this file to LLVM IR, native.ll, which is part of the package. At
run time native.py compiles one function of it with constants for its use. The text is one for
all systems of 64 bits: what differs (the floating-point mode) and what depends on a use (the number
of a kernel's operands) is declared here and defined in native.py. No arithmetic of floating-point
numbers happens here but in column_sums: kernels run in a mode that LLVM does not know of. */

#include <stddef.h>
#include <stdint.h>
#include "xla/ffi/api/c_api.h" /* jaxlib's */

#define SEQ_CST __ATOMIC_SEQ_CST
#define INLINE static inline __attribute__((always_inline))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

/* The floating-point mode and status of this thread, and the bits that flush subnormal numbers to 0:
   threads of XLA and TensorFlow have them set. */
int64_t get_mode(void);
void set_mode(int64_t mode);
extern const int64_t FLUSH;
/* Call code(places[0], ..., places[operands - 1], constants, count). */
void call(const void *code, char *const *places, const void *constants, int64_t count,
          int64_t operands);
void *malloc(size_t);
void free(void *);

/* Of a kernel: its array operands; their number, with results. */
extern const int64_t INPUTS, RESULTS, OPERANDS;

/* Make this thread keep subnormal numbers; return its mode before. */
INLINE int64_t allow_subnormals(void) {
    int64_t mode = get_mode();
    set_mode(mode & ~FLUSH);
    return mode;
}

INLINE int exchange(int64_t *word, int64_t expected, int64_t value) {
    return __atomic_compare_exchange_n(word, &expected, value, 0, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

/* ---- Chunks: a loop that each thread of a parallel call runs ---- */

typedef struct {
    int64_t next, count, step, item; /* the first element not yet taken; elements per chunk; bytes */
    const void *kernel, *constants;  /* a kernel, and its parameters or table */
} Chunks;

/* Process chunks until none is left to take; return how many elements were computed. Which thread
   takes which chunk does not change results. */
INLINE int64_t process(Chunks *job, int64_t columns, const int64_t *distances, char *const *bases) {
    char *places[OPERANDS];
    int64_t start, done = 0;
    while ((start = __atomic_fetch_add(&job->next, job->step, __ATOMIC_RELAXED)) < job->count) {
        int64_t size = MIN(job->step, job->count - start), end = columns ? start + size : start + 1;
        for (int64_t row = start; row < end; row++) {
            for (int64_t k = 0; k < OPERANDS; k++)
                places[k] = bases[k] + row * job->item * (distances ? distances[k] : 1);
            call(job->kernel, places, job->constants, columns ? columns : size, OPERANDS);
        }
        done += size;
    }
    return done;
}

/* The addresses of the operands follow the job. */
int64_t run_chunks(Chunks *job) { return process(job, 0, NULL, (char *const *)(job + 1)); }

/* `next`, `count` and `step` count rows. The length of a row and the row stride of each operand, in
   elements, precede the addresses. If the length is 0, a kernel is called once for a chunk. */
int64_t run_row_chunks(Chunks *job) {
    const int64_t *words = (const int64_t *)(job + 1), *distances = words + 1;
    return process(job, words[0], distances, (char *const *)(distances + OPERANDS));
}

/* ---- Blocks: short rows, which are copied together where they are not dense ---- */

/* Elements of which those of all operands fit in L1 cache; shorter rows are computed together; bytes
   up to which a loop is faster than memcpy. */
enum { BLOCK = 512, LONG_ROW = 64, FEW_BYTES = 24 };
void *memcpy(void *restrict, const void *restrict, size_t);

typedef int64_t __attribute__((aligned(1))) Unaligned8;
typedef int32_t __attribute__((aligned(1))) Unaligned4;
typedef int16_t __attribute__((aligned(1))) Unaligned2;
#define COPY(type) \
    for (int64_t i = 0; i < count; i++) \
        *(type *)(to + i * to_step) = *(const type *)(from + i * from_step);
static __attribute__((noinline)) void copy(const char *from, int64_t from_step, char *to,
                                           int64_t to_step, int64_t size, int64_t count) {
    if (size == 1)
        COPY(char)
    else if (size == 2)
        COPY(Unaligned2)
    else if (size == 4)
        COPY(Unaligned4)
    else
        COPY(Unaligned8)
}

/* Of an operand: the distance between rows and the size of an element, in bytes. */
typedef struct {
    int64_t distance, item;
} Layout;

/* Copy rows of adjacent elements: few bytes as numbers of at most 8, many by memcpy. */
INLINE void copy_rows(const char *from, int64_t from_step, char *to, int64_t to_step, int64_t length,
                      int64_t rows) {
    if (length > FEW_BYTES) {
        for (int64_t i = 0; i < rows; i++)
            memcpy(to + i * to_step, from + i * from_step, length);
        return;
    }
    int64_t size = 1;
    while (size < 8 && length % (2 * size) == 0)
        size *= 2;
    for (int64_t i = 0; i < length; i += size)
        copy(from + i, from_step, to + i, to_step, size, rows);
}

/* `next`, `count` and `step` count rows. The length of a row, the layouts and the addresses of the
   operands follow the job, results first. */
int64_t run_row_blocks(Chunks *job) {
    char *places[OPERANDS];
    int64_t buffers[OPERANDS][BLOCK];
    const int64_t *words = (const int64_t *)(job + 1), columns = words[0];
    const Layout *layouts = (const Layout *)(words + 1);
    char *const *bases = (char *const *)(layouts + OPERANDS);
    int64_t rows = columns < LONG_ROW ? BLOCK / columns : 1, mode = allow_subnormals();
    int64_t start, done = 0;
    while ((start = __atomic_fetch_add(&job->next, job->step, __ATOMIC_RELAXED)) < job->count) {
        int64_t end = MIN(job->count, start + job->step), height;
        for (int64_t row = start; row < end; row += height) {
            height = MIN(rows, end - row);
            for (int64_t k = 0; k < OPERANDS; k++) {
                int64_t distance = layouts[k].distance, length = columns * layouts[k].item;
                char *place = bases[k] + row * distance;
                int64_t dense = height == 1 || distance == length;
                places[k] = dense ? place : (char *)buffers[k];
                if (!dense && k >= RESULTS)
                    copy_rows(place, distance, places[k], length, length, height);
            }
            call(job->kernel, places, job->constants, height * columns, OPERANDS);
            for (int64_t k = 0; k < RESULTS; k++) {
                int64_t distance = layouts[k].distance, length = columns * layouts[k].item;
                if (places[k] == (char *)buffers[k])
                    copy_rows(places[k], length, bases[k] + row * distance, distance, length, height);
            }
        }
        done += end - start;
    }
    set_mode(mode);
    return done;
}

/* ---- Threads ---- */

/* A caller looks so often for the end of other threads, some 50 us, before it sleeps between looks.
   A thread that comes before the caller sleeps so often, and then leaves. */
enum { SPINS = 1 << 15, SLEEPS = 20 };
extern const int64_t DURATION; /* what the system's `sleep` is called with */
int32_t sleep_for(int32_t duration);

/* Call function(job) on one of several threads. The upper half of `state` is 0 until the caller
   begins, 1 until its call has ended, then 2; the lower half counts other threads. They call the
   function in state 1 only. The caller returns when no other thread is counted: from then on none
   calls the function. */
void run_on_thread(uint64_t *state, void (*function)(void *), void *job, int64_t is_caller) {
    const uint64_t phase = (uint64_t)1 << 32;
    if (is_caller) {
        __atomic_fetch_add(state, phase, SEQ_CST);
        function(job);
        __atomic_fetch_add(state, phase, SEQ_CST);
        for (int64_t looks = 0; __atomic_load_n(state, SEQ_CST) & (phase - 1); looks++)
            if (looks >= SPINS)
                sleep_for((int32_t)DURATION);
        return;
    }
    for (int64_t tries = 0;; sleep_for((int32_t)DURATION)) {
        uint64_t reached = __atomic_fetch_add(state, 1, SEQ_CST) >> 32;
        if (reached == 1)
            function(job);
        __atomic_fetch_sub(state, 1, SEQ_CST);
        if (reached || ++tries == SLEEPS)
            return;
    }
}

/* ---- XLA: a handler of its foreign function interface, xla/ffi/api/c_api.h ----

   One handler serves every kernel. A target that XLA calls by name is a stub of two instructions,
   which passes the handler the slot with its kernel. A large array is divided into chunks, which
   the calling thread and tasks on XLA's threads take in turn. The handler returns when no chunk is
   left to take, with a future that becomes available when the last one is finished. */

extern const int64_t XLA_MAJOR, XLA_MINOR, XLA_HAS_STATE; /* of the installed jaxlib */
enum { MOST_OPERANDS = 8, STUBS = 64 };

/* Offsets in all supported versions of jaxlib: this file is compiled with the header of one. */
#define AT(type, field, place) _Static_assert(offsetof(XLA_FFI_##type, field) == place, #field);
#define API(function, place) AT(Api, XLA_FFI_##function, place)
API(Error_Create, 48) API(Error_Destroy, 64)
API(ThreadPool_Schedule, 136) API(ThreadPool_NumThreads, 144)
API(Future_Create, 152) API(Future_SetAvailable, 160)
AT(CallFrame, extension_start, 8) AT(CallFrame, api, 16) AT(CallFrame, ctx, 24)
AT(CallFrame, stage, 32) AT(CallFrame, args, 40) AT(CallFrame, rets, 80)
AT(CallFrame, attrs, 120) AT(CallFrame, future, 168)
AT(Args, size, 16) AT(Args, args, 32) AT(Rets, size, 16) AT(Rets, rets, 32)
AT(Buffer, data, 24) AT(Buffer, rank, 32) AT(Buffer, dims, 40)
AT(Extension_Base, type, 8) AT(Metadata_Extension, metadata, 24)
AT(Metadata, api_version.major_version, 24) AT(Metadata, api_version.minor_version, 28)
AT(Metadata, traits, 32) AT(Metadata, state_type_id, 40)

typedef struct {
    int64_t (*chunks)(Chunks *);         /* run_chunks for the kernel's operands */
    const void *kernel, *constants;      /* null: the constants are the operand after the inputs */
    int64_t item, step, inputs, results; /* at most `step` elements are computed by one thread */
} Slot;

typedef struct {
    int64_t (*run)(Chunks *);
    int64_t left, owners; /* elements not yet computed; threads that use the job: the last frees it */
    XLA_FFI_Future *future;
    const XLA_FFI_Api *api;
    Chunks chunks;
    char *places[MOST_OPERANDS];
} XlaJob;

static int destroy(const XLA_FFI_Api *api, XLA_FFI_Error *error) {
    XLA_FFI_Error_Destroy_Args order = {sizeof order, NULL, error};
    if (error)
        api->XLA_FFI_Error_Destroy(&order);
    return error != NULL;
}

static __attribute__((noinline)) void xla_run(XlaJob *job) {
    int64_t mode = allow_subnormals(), done = job->run(&job->chunks);
    set_mode(mode);
    /* XLA runs the operations that wait for the result inside this call, so it is made only after
       the thread flushes subnormal numbers again. */
    if (done && __atomic_fetch_sub(&job->left, done, __ATOMIC_ACQ_REL) == done && job->future) {
        XLA_FFI_Future_SetAvailable_Args order = {sizeof order, NULL, job->future};
        destroy(job->api, job->api->XLA_FFI_Future_SetAvailable(&order));
    }
}

static void xla_task(void *data) {
    XlaJob *job = data;
    xla_run(job);
    if (__atomic_fetch_sub(&job->owners, 1, __ATOMIC_ACQ_REL) == 1)
        free(job);
}

static __attribute__((noinline)) XLA_FFI_Error *xla_handler(XLA_FFI_CallFrame *frame,
                                                            const Slot *slot) {
    if (frame->extension_start && frame->extension_start->type == XLA_FFI_Extension_Metadata) {
        XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)frame->extension_start)->metadata;
        metadata->api_version.major_version = (int)XLA_MAJOR;
        metadata->api_version.minor_version = (int)XLA_MINOR;
        metadata->traits = 0;
        if (XLA_HAS_STATE)
            metadata->state_type_id.type_id = 0;
        return NULL;
    }
    if (frame->stage != XLA_FFI_ExecutionStage_EXECUTE)
        return NULL;
    const XLA_FFI_Api *api = frame->api;
    int64_t inputs = slot->inputs, results = slot->results, passed = !slot->constants;
    if (frame->struct_size < offsetof(XLA_FFI_CallFrame, future) ||
        frame->args.size != inputs + passed || frame->rets.size != results) {
        XLA_FFI_Error_Create_Args error = {
            sizeof error, NULL,
            "softgate: the number of operands or results is not that of the target",
            XLA_FFI_Error_Code_INTERNAL};
        return api->XLA_FFI_Error_Create(&error);
    }
    XLA_FFI_Buffer **sources = (XLA_FFI_Buffer **)frame->args.args;
    XLA_FFI_Buffer **targets = (XLA_FFI_Buffer **)frame->rets.rets;
    int64_t count = 1;
    for (int64_t axis = 0; axis < targets[0]->rank; axis++)
        count *= targets[0]->dims[axis];
    const void *constants = passed ? sources[inputs]->data : slot->constants;
    XlaJob job = {slot->chunks, count, 1, NULL, api,
                  {0, count, slot->step, slot->item, slot->kernel, constants}, {NULL}};
    for (int64_t i = 0; i < results; i++)
        job.places[i] = targets[i]->data;
    for (int64_t i = 0; i < inputs; i++)
        job.places[results + i] = sources[i]->data;
    int64_t helpers = 0;
    if (count > slot->step) {
        int64_t threads = 1, chunks = (count + slot->step - 1) / slot->step;
        XLA_FFI_ThreadPool_NumThreads_Args query = {sizeof query, NULL, frame->ctx, &threads};
        destroy(api, api->XLA_FFI_ThreadPool_NumThreads(&query)); /* an error without a pool */
        helpers = MIN(threads, chunks) - 1;
    }
    XLA_FFI_Future_Create_Args creation = {sizeof creation, NULL, NULL};
    if (helpers <= 0 || destroy(api, api->XLA_FFI_Future_Create(&creation))) {
        xla_run(&job);
        return NULL;
    }
    job.future = frame->future = creation.future;
    job.owners = helpers + 1;
    /* Tasks may outlive this call: those that begin late find no chunk, and drop the job. */
    XlaJob *shared = malloc(sizeof job);
    *shared = job;
    XLA_FFI_ThreadPool_Schedule_Args order = {sizeof order, NULL, frame->ctx, xla_task, shared};
    for (int64_t i = 0; i < helpers; i++)
        if (destroy(api, api->XLA_FFI_ThreadPool_Schedule(&order)))
            __atomic_fetch_sub(&shared->owners, 1, __ATOMIC_ACQ_REL);
    xla_task(shared);
    return NULL;
}

#define EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define ALL(X) /* 64 octal numbers */ \
    EIGHT(X, 00) EIGHT(X, 01) EIGHT(X, 02) EIGHT(X, 03) EIGHT(X, 04) EIGHT(X, 05) EIGHT(X, 06) \
    EIGHT(X, 07)
#define STUB(n) static XLA_FFI_Error *stub##n(XLA_FFI_CallFrame *frame) { return xla_handler(frame, slots + n); }
#define NAME(n) stub##n,
static Slot slots[STUBS];
ALL(STUB)
static XLA_FFI_Handler *const stubs[STUBS] = {ALL(NAME)};

/* Write the addresses of an array of the stubs, to be registered with XLA, and of their slots, to be
   filled before. */
void xla_stubs(const void **places) {
    places[0] = stubs;
    places[1] = slots;
}

/* ---- TensorFlow: an op by its C API, and the threads that share its work ----

   The C API has no thread pool, so threads wait in tf_serve, each on its own semaphore. A worker is
   idle (job 0), has a job that it has not begun, which the caller may withdraw, or runs it (job | 1).
   A caller processes chunks itself until none is left, withdraws what was not begun, and waits for
   the rest: its job can therefore be on its stack, and a thread that was lost in a fork delays
   nothing. */

typedef struct Status Status;
typedef struct Tensor Tensor;
Status *TF_NewStatus(void);
void TF_DeleteStatus(Status *);
int32_t TF_GetCode(const Status *);
void TF_SetStatus(Status *, int32_t code, const char *message);
void TF_OpKernelConstruction_GetAttrInt64(void *, const char *name, int64_t *, Status *);
void TF_OpKernelConstruction_Failure(void *, Status *);
void TF_OpKernelContext_Failure(void *, Status *);
void TF_GetInput(void *, int32_t, Tensor **, Status *);
int32_t TF_NumDims(const Tensor *);
int64_t TF_Dim(const Tensor *, int32_t);
size_t TF_TensorByteSize(const Tensor *);
void *TF_TensorData(const Tensor *);
Tensor *TF_AllocateOutput(void *, int32_t, int32_t dtype, const int64_t *lengths, int32_t axes,
                          size_t size, Status *);
void TF_DeleteTensor(Tensor *);
void *TF_NewShapeHandle(void);
void TF_DeleteShapeHandle(void *);
void TF_ShapeInferenceContextGetInput(void *, int32_t, void *shape, Status *);
void TF_ShapeInferenceContextSetOutput(void *, int32_t, void *shape, Status *);
int32_t sem_wait(void *);
int32_t sem_post(void *);
int32_t sched_yield(void);

enum { INVALID_ARGUMENT = 3, MOST_AXES = 254, CHUNKS_PER_THREAD = 4, LINE = 64 };
extern const int64_t PROCESS;        /* identifies this process and its children */
extern const int64_t POOL, MIN_BYTES; /* the workers, 0 if there are none; bytes worth a thread */

typedef struct {
    const void *kernel, *constants;
    int64_t (*chunks)(Chunks *); /* run_chunks for the kernel's operands */
    int64_t inputs, results, item, dtype;
} TfKernel;

typedef struct {
    int64_t (*run)(Chunks *);
    Chunks chunks;
    char *places[MOST_OPERANDS];
} TfJob;

/* A cache line with the job, and one with the semaphore. Of the first of a pool, `job` is the number
   of those that follow. */
typedef struct {
    int64_t job, unused[LINE / 8 - 1], semaphore[LINE / 8];
} Worker;

/* Return the kernel that a node refers to: its attribute `kernel`, valid in the process with the
   same attribute `process` only; a node from elsewhere fails with a message. */
int64_t tf_create(void *construction) {
    Status *status = TF_NewStatus();
    int64_t kernel = 0, process = 0;
    TF_OpKernelConstruction_GetAttrInt64(construction, "kernel", &kernel, status);
    TF_OpKernelConstruction_GetAttrInt64(construction, "process", &process, status);
    if (process != PROCESS) {
        TF_SetStatus(status, INVALID_ARGUMENT, "a softgate kernel of another process: "
                                               "save the function, not its optimised graph");
        TF_OpKernelConstruction_Failure(construction, status);
    }
    TF_DeleteStatus(status);
    return kernel;
}

/* The results have the shape of the first operand. */
void tf_shape(void *context, Status *status) {
    void *shape = TF_NewShapeHandle();
    TF_ShapeInferenceContextGetInput(context, 0, shape, status);
    for (int32_t i = 0; i < RESULTS; i++)
        TF_ShapeInferenceContextSetOutput(context, i, shape, status);
    TF_DeleteShapeHandle(shape);
}

/* Read the operands and allocate the results, which come first; return the bytes of one. */
static size_t tf_open(const TfKernel *kernel, void *context, Tensor **tensors, Status *status) {
    Tensor **inputs = tensors + kernel->results;
    for (int64_t i = 0; i < kernel->inputs; i++)
        TF_GetInput(context, (int32_t)i, inputs + i, status);
    int64_t lengths[MOST_AXES];
    int32_t axes = TF_NumDims(inputs[0]);
    for (int32_t axis = 0; axis < axes; axis++)
        lengths[axis] = TF_Dim(inputs[0], axis);
    size_t size = TF_TensorByteSize(inputs[0]);
    for (int64_t i = 0; i < kernel->results; i++)
        tensors[i] = TF_AllocateOutput(context, (int32_t)i, (int32_t)kernel->dtype, lengths, axes,
                                       size, status);
    for (int64_t i = 0; i < kernel->inputs; i++)
        if (TF_TensorByteSize(inputs[i]) != size)
            TF_SetStatus(status, INVALID_ARGUMENT,
                         "the operands of a softgate kernel have different sizes");
    return size;
}

/* Process a job on this thread and, if `threads` is more than 1, on idle ones. */
static void tf_run(TfJob *job, int64_t threads) {
    Worker *pool = (Worker *)POOL;
    int64_t posted = (int64_t)job, workers = threads > 1 ? pool->job : 0, wanted = threads - 1;
    for (int64_t i = 1; i <= workers && wanted > 0; i++)
        if (exchange(&pool[i].job, 0, posted)) {
            wanted--;
            sem_post(pool[i].semaphore);
        }
    job->run(&job->chunks);
    for (int64_t i = 1; i <= workers; i++) {
        exchange(&pool[i].job, posted, 0);
        while (__atomic_load_n(&pool[i].job, __ATOMIC_ACQUIRE) == (posted | 1))
            sched_yield();
    }
}

/* Allocate the results of a node and compute them. */
void tf_compute(const TfKernel *kernel, void *context) {
    int64_t operands = kernel->inputs + kernel->results;
    Tensor *tensors[MOST_OPERANDS] = {NULL};
    Status *status = TF_NewStatus();
    size_t size = tf_open(kernel, context, tensors, status);
    if (TF_GetCode(status)) {
        TF_OpKernelContext_Failure(context, status);
    } else if (size) {
        int64_t count = (int64_t)size / kernel->item, threads = 1, step = count;
        if (POOL) {
            int64_t useful = (int64_t)size * operands / MIN_BYTES;
            threads = MIN(((Worker *)POOL)->job + 1, useful);
        }
        /* A multiple of 64 elements, at least one: no two threads share a cache line. */
        if (threads > 1)
            step = (count / (threads * CHUNKS_PER_THREAD) + 64) & -64;
        TfJob job = {kernel->chunks,
                     {0, count, step, kernel->item, kernel->kernel, kernel->constants}, {NULL}};
        for (int64_t i = 0; i < operands; i++)
            job.places[i] = TF_TensorData(tensors[i]);
        int64_t mode = allow_subnormals();
        tf_run(&job, threads);
        set_mode(mode);
    }
    for (int64_t i = 0; i < operands; i++)
        if (tensors[i])
            TF_DeleteTensor(tensors[i]);
    TF_DeleteStatus(status);
}

/* Process the jobs that are posted to a worker, without end. */
void tf_serve(Worker *worker) {
    allow_subnormals(); /* a thread inherits the mode of the one that started it */
    for (;;) {
        sem_wait(worker->semaphore); /* an interrupt ends it too: the job is 0 then */
        int64_t job = __atomic_load_n(&worker->job, __ATOMIC_ACQUIRE);
        /* 0 after a job was withdrawn; a running one is never seen here. */
        if (job && exchange(&worker->job, job, job | 1)) {
            ((TfJob *)job)->run(&((TfJob *)job)->chunks);
            __atomic_store_n(&worker->job, 0, __ATOMIC_RELEASE);
        }
    }
}

/* ---- NumPy: the inner loop of a ufunc that calls a kernel ----

   Dense operands are passed to the kernel whole; others are gathered into blocks that fit in L1
   cache. Parameters are float64 operands. Where they have a stride of 0, the kernel is that of the
   record for their values; where they vary, the kernel reads them as arrays. */

extern const int64_t PARAMETERS;
enum { UNIFORM, VARYING, SHARE, DONE = 1 };

typedef struct {
    int64_t current, varying; /* the record used last, that for parameters that vary; 0 at first */
    int64_t active;           /* how many threads are in the loop: while it is one, a record that is
                                 not current may be freed */
    int64_t item, large;      /* bytes of an element; from how many on threads are worth it */
    const int64_t *threads;   /* how many there are */
    int64_t failed;           /* minus the address of the exception that is raised where `serve` is
                                 interrupted: in rows after an error, this error */
} Data;

typedef struct {
    const void *code, *constants;
    int64_t values[]; /* the bits of the parameters */
} Record;

typedef struct {
    char *const *args;
    const int64_t *steps;
    int64_t count;
    Data *data;
    char **words, **places; /* memory for the operands of a call of the kernel, after three words */
    int64_t (*buffers)[BLOCK];
} Call;

/* Python makes what is missing. Writes the address of a record; or DONE if it computed the results
   itself; or minus the address of an exception's class, which is then raised in this thread, as
   NumPy's loops cannot report errors. Writes nothing if it was itself interrupted. */
void serve(int64_t reason, Data *, char *const *args, const int64_t *steps, int64_t count,
           int64_t *answer);
int32_t PyGILState_Ensure(void);
void PyGILState_Release(int32_t);
int64_t PyThread_get_thread_ident(void);
int32_t PyThreadState_SetAsyncExc(int64_t thread, int64_t exception);

static int64_t ask(const Call *c, int64_t reason, char *const *args) {
    int64_t answer = 0;
    serve(reason, c->data, args, c->steps, c->count, &answer);
    return answer;
}

/* The place in `args` of the kernel's k-th operand; its results are first. */
INLINE int64_t place_of(int64_t k) {
    return k < RESULTS ? INPUTS + PARAMETERS + k : k - RESULTS;
}

INLINE char *element(const Call *c, int64_t k, int64_t i) {
    return c->args[place_of(k)] + i * c->steps[place_of(k)];
}
INLINE int64_t step_of(const Call *c, int64_t k) { return c->steps[place_of(k)]; }
INLINE int64_t size_of(const Call *c, int64_t k) {
    return k < RESULTS + INPUTS ? c->data->item : 8;
}

/* Whether results are read as later elements, as `reduce` and `accumulate` do. In other calls NumPy
   copies operands that overlap a result, unless it overwrites them. */
INLINE int64_t depends(const Call *c, int64_t operands) {
    int64_t any = 0;
    for (int64_t k = 0; k < RESULTS; k++) {
        int64_t step = step_of(c, k);
        any |= step == 0;
        for (int64_t i = RESULTS; i < operands; i++)
            if (step == step_of(c, i) && element(c, k, 0) - element(c, i, 0) == step)
                any = 1;
    }
    return any && c->count > 1;
}

/* Gather blocks of the operands that are not dense, call the kernel, scatter. */
INLINE void in_blocks(const Call *c, const Record *record, int64_t operands) {
    for (int64_t start = 0; start < c->count; start += BLOCK) {
        int64_t length = MIN(BLOCK, c->count - start);
        for (int64_t k = 0; k < operands; k++) {
            int64_t step = step_of(c, k), size = size_of(c, k);
            c->places[k] = step == size ? element(c, k, start) : (char *)c->buffers[k];
            if (step != size && k >= RESULTS)
                copy(element(c, k, start), step, c->places[k], size, size, length);
        }
        call(record->code, c->places, record->constants, length, operands);
        for (int64_t k = 0; k < RESULTS; k++) {
            int64_t step = step_of(c, k), size = size_of(c, k);
            if (step != size)
                copy((char *)c->buffers[k], size, element(c, k, start), step, size, length);
        }
    }
}

/* Call the kernel of a record, by one of four ways; return DONE, or the answer of `serve`. */
INLINE int64_t compute(const Call *c, const Record *record, int64_t operands) {
    if (depends(c, operands)) {
        for (int64_t i = 0; i < c->count; i++) {
            for (int64_t k = 0; k < operands; k++)
                c->places[k] = element(c, k, i);
            call(record->code, c->places, record->constants, 1, operands);
        }
        return DONE;
    }
    int64_t dense = 1;
    for (int64_t k = 0; k < operands; k++)
        dense &= step_of(c, k) == size_of(c, k);
    if (!dense && c->count > 1) {
        in_blocks(c, record, operands);
        return DONE;
    }
    for (int64_t k = 0; k < operands; k++)
        c->places[k] = element(c, k, 0);
    if (c->count >= c->data->large && *c->data->threads > 1) {
        c->words[0] = (char *)record->code;
        c->words[1] = (char *)record->constants;
        c->words[2] = (char *)operands;
        return ask(c, SHARE, c->words);
    }
    call(record->code, c->places, record->constants, c->count, operands);
    return DONE;
}

INLINE int64_t find_and_compute(const Call *c, int64_t reason, int64_t operands) {
    int64_t *known = reason == UNIFORM ? &c->data->current : &c->data->varying;
    int64_t found = __atomic_load_n(known, SEQ_CST);
    for (int64_t p = 0; found && reason == UNIFORM && p < PARAMETERS; p++)
        if (((Record *)found)->values[p] != *(Unaligned8 *)c->args[INPUTS + p])
            found = 0;
    if (!found)
        found = ask(c, reason, c->args);
    return found > DONE ? compute(c, (Record *)found, operands) : found;
}

void ufunc_loop(char *const *args, const int64_t *dimensions, const int64_t *steps, Data *data) {
    char *words[3 + RESULTS + INPUTS + PARAMETERS];
    int64_t buffers[RESULTS + INPUTS + PARAMETERS][BLOCK];
    const Call c = {args, steps, dimensions[0], data, words, words + 3, buffers};
    if (c.count <= 0)
        return;
    int64_t uniform = 1;
    for (int64_t p = 0; p < PARAMETERS; p++)
        uniform &= steps[INPUTS + p] == 0;
    /* NumPy would warn of overflow within a kernel: the status is restored with the mode. */
    int64_t mode = allow_subnormals();
    __atomic_fetch_add(&data->active, 1, SEQ_CST);
    int64_t status = uniform || c.count == 1
                         ? find_and_compute(&c, UNIFORM, RESULTS + INPUTS)
                         : find_and_compute(&c, VARYING, RESULTS + INPUTS + PARAMETERS);
    if (status == 0)
        status = data->failed;
    if (status < 0) {
        int32_t state = PyGILState_Ensure();
        PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), -status);
        PyGILState_Release(state);
    }
    __atomic_fetch_sub(&data->active, 1, SEQ_CST);
    set_mode(mode);
}

/* ---- Python: a vectorcall for the method `__call__` of functions ----

   It passes one contiguous array to the ufunc that the function holds, and one tensor to the function
   that an adapter has set, as the code of the method does; it leaves all other calls to that code. */

typedef struct Object Object;
Object *PyObject_Vectorcall(Object *, Object *const *args, size_t count, Object *names);
int64_t PyTuple_Size(Object *);
Object *PyTuple_GetItem(Object *, int64_t i);
int32_t PyErr_ExceptionMatches(Object *);
void PyErr_Clear(void);
void Py_IncRef(Object *);
void Py_DecRef(Object *);
/* What the interpreter calls for the method without this. */
Object *run_code(Object *method, Object *const *args, size_t count, Object *names);

/* Offsets in bytes: of the type of an object; of the flags of an array; in a function of its ufunc, of
   a tuple of types of tensors, and of what is called with these. Addresses: of the types of arrays and
   of functions, of None and of TypeError. */
extern const int64_t TYPE, FLAGS, UFUNC, TENSORS, FAST_PATH, ARRAYS, FUNCTIONS, NONE, TYPE_ERROR;
enum { CONTIGUOUS = 3 }; /* two flags: in C's order, in Fortran's */

INLINE int64_t word_of(const Object *object, int64_t offset) {
    return *(const int64_t *)((const char *)object + offset);
}

/* The object in a slot; null if there is none. */
INLINE Object *slot_of(const Object *function, int64_t offset) {
    int64_t word = word_of(function, offset);
    return word == NONE ? NULL : (Object *)word;
}

static Object *with_one_operand(Object *function, Object *const *operand) {
    Py_IncRef(function); /* another thread may replace it */
    Object *result = PyObject_Vectorcall(function, operand, 1, NULL);
    Py_DecRef(function);
    return result;
}

Object *call_method(Object *method, Object *const *args, size_t count, Object *names) {
    /* The uppermost bit of `count` says that args[-1] may be overwritten. */
    if (names || count << 1 != 2 << 1 || word_of(args[0], TYPE) != FUNCTIONS)
        return run_code(method, args, count, names);
    int64_t type = word_of(args[1], TYPE);
    if (type == ARRAYS) {
        Object *ufunc = slot_of(args[0], UFUNC);
        if (ufunc && word_of(args[1], FLAGS) & CONTIGUOUS) {
            Object *result = with_one_operand(ufunc, args + 1);
            if (result || !PyErr_ExceptionMatches((Object *)TYPE_ERROR))
                return result;
            PyErr_Clear(); /* the code raises it again, with what is expected */
        }
        return run_code(method, args, count, names);
    }
    Object *types = slot_of(args[0], TENSORS), *fast_path = slot_of(args[0], FAST_PATH);
    if (types && fast_path)
        for (int64_t i = 0; i < PyTuple_Size(types); i++)
            if ((int64_t)PyTuple_GetItem(types, i) == type)
                return with_one_operand(fast_path, args + 1);
    return run_code(method, args, count, names);
}

/* ---- Sums and counts over the columns of matrices, in one pass and in float64 ---- */

double load(const char *base, int64_t i); /* an element of the storage format */
extern const int64_t ITEM;                /* its bytes */
enum { COLUMNS = 64 };                    /* of a block, whose sums stay in L1 cache */
enum { SHIFT, FINITE, RISING_LITTLE, FALLING, FALLING_STEEPLY, SATURATED, FIRST, SECOND, THIRD,
       OPENNESS, INPUT_SQUARE, ROWS };

typedef struct {
    int64_t stride_x, stride_y, stride_slope, stride_sums; /* row strides in elements */
    double flat, low, high;
    int64_t rows;
} Settings;

/* `sums` is a table of float64: the row of shifts, which is read, and a row for each sum, which is
   added to. All addresses are those of the first column; elements with a non-finite input or output
   are skipped. LLVM vectorises over the columns of a block. */
void column_sums(double *restrict sums, const char *restrict x, const char *restrict y,
                 const char *restrict slope, const Settings *restrict s, int64_t columns) {
    double block[ROWS][COLUMNS];
    for (int64_t start = 0; start < columns; start += COLUMNS) {
        int64_t width = MIN(COLUMNS, columns - start);
        for (int64_t row = 0; row < ROWS; row++)
            for (int64_t i = 0; i < width; i++)
                block[row][i] = row == SHIFT ? sums[start + i] : 0;
        for (int64_t row = 0; row < s->rows; row++) {
            const char *row_x = x + ITEM * (row * s->stride_x + start);
            const char *row_y = y + ITEM * (row * s->stride_y + start);
            const char *row_slope = slope + ITEM * (row * s->stride_slope + start);
            for (int64_t i = 0; i < width; i++) {
                double a = load(row_x, i), b = load(row_y, i), c = load(row_slope, i);
                /* a - a is 0 for finite numbers only; one inf or NaN would make a sum useless. */
                int finite = (a - a) + (b - b) == 0;
                double d = finite ? b - block[SHIFT][i] : 0, ratio = b / a;
                ratio = a == 0 ? c : ratio; /* at 0 the limit there, the slope */
                block[FINITE][i] += finite ? 1 : 0;
                block[RISING_LITTLE][i] += (finite & (c < s->flat)) ? 1 : 0;
                block[FALLING][i] += (finite & (c < 0)) ? 1 : 0;
                block[FALLING_STEEPLY][i] += (finite & (c <= -s->flat)) ? 1 : 0;
                block[SATURATED][i] += (finite & ((b <= s->low) | (b >= s->high))) ? 1 : 0;
                block[FIRST][i] += d;
                block[SECOND][i] += d * d;
                block[THIRD][i] += d * d * d;
                block[OPENNESS][i] += finite ? ratio : 0;
                block[INPUT_SQUARE][i] += finite ? a * a : 0;
            }
        }
        for (int64_t row = FINITE; row < ROWS; row++)
            for (int64_t i = 0; i < width; i++)
                sums[row * s->stride_sums + start + i] += block[row][i];
    }
}
