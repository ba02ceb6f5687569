"""Nothing is counted twice or left behind, around any model; unseen calls are reported."""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402
from watched import Calls, seeded  # noqa: E402, F401

import softgate as sg  # noqa: E402
from softgate.torch import watch  # noqa: E402


def test_modules_of_the_outermost_level_make_one_step_together():
    class Parts(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.decode = Calls(F.relu), Calls(torch.tanh)

        def training_step(self, x):
            return self.decode(self.encode(x)).sum()

    model = Parts()
    with watch(model) as w:
        for _ in range(3):
            model.training_step(torch.randn(4, 6)).backward()
    assert w.report().steps == 3
    assert [site.calls for site in w.report().sites] == [3, 3]


def test_compiled_models_run_as_written_while_they_are_watched():
    model = nn.Sequential(nn.Linear(6, 6), nn.GELU(), Calls(torch.compile(F.relu, backend="eager")))
    compiled = torch.compile(model, backend="eager")
    in_place = copy.deepcopy(model)
    in_place.compile(backend="eager")
    x = torch.randn(4, 6)
    plain = compiled(x)
    for watched, called in ((model, compiled), (compiled, compiled), (in_place, in_place)):
        with watch(watched) as w:
            torch.testing.assert_close(called(x), plain)
        assert [site.function for site in w.report().sites] == ["gelu", "relu"]
        assert w.report().steps == 1
    torch.testing.assert_close(compiled(x), plain)


def test_what_was_compiled_is_refused_where_torch_cannot_run_it_as_written(monkeypatch):
    model = nn.Sequential(nn.Linear(6, 6), nn.GELU())
    model.compile(backend="eager")
    monkeypatch.delattr(torch.compiler, "set_stance")
    with pytest.raises(ValueError, match="compiled"):
        watch(model)


def test_what_a_watch_holds_does_not_grow(monkeypatch):
    model = nn.Sequential(nn.Linear(6, 6), nn.GELU())
    with watch(model) as w:
        sizes = []
        for _ in range(300):
            model(torch.randn(4, 6)).sum()  # its graph is never gone through
            sizes.append(len(w._gradients._handles))
    assert max(sizes) <= 4
    (site,) = w._sites.values()
    assert len(site.history.periods) <= 32


def hooks(model):
    """Return every hook that hangs on a model."""
    return [
        hook
        for module in model.modules()
        for table in (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks,
                      module._forward_hooks_always_called, module._forward_hooks_with_kwargs,
                      module._forward_pre_hooks_with_kwargs)
        for hook in table.items()
    ]  # fmt: skip


def modes():
    return torch._C._len_torch_function_stack()


class Fails(nn.Module):
    def forward(self, x):
        raise ZeroDivisionError("in the middle")


@pytest.mark.parametrize("failing", [False, True])
def test_nothing_is_left_behind(failing):
    model = nn.Sequential(nn.Linear(6, 6), nn.GELU(), *([Fails()] if failing else []))
    call = sg.Activation.__call__
    if failing:
        with pytest.raises(ZeroDivisionError), watch(model) as w:
            model(torch.randn(3, 6))
    else:
        with watch(model) as w:
            assert hooks(model)
            loss = model(torch.randn(3, 6)).sum()
    assert hooks(model) == []
    assert modes() == 0
    assert sg.Activation.__call__ is call
    before = w.report()
    assert before.sites[0].calls == 1
    if not failing:
        node = loss.grad_fn.next_functions[0][0]
        loss.backward()  # a graph made inside is silent outside
        assert node is not None
    model[:2](torch.randn(3, 6))
    assert w.report() == before
    with pytest.raises(RuntimeError, match="used before"), w:
        pass


def test_a_failure_in_the_middle_of_a_pass_does_not_confuse_the_next():
    class Sometimes(nn.Module):
        def forward(self, x):
            if x.shape[0] == 1:
                raise ZeroDivisionError
            return x

    model = nn.Sequential(nn.Linear(6, 6), nn.GELU(), Sometimes(), nn.ReLU())
    with watch(model) as w:
        with pytest.raises(ZeroDivisionError):
            model(torch.randn(1, 6))
        model(torch.randn(5, 6))
    gelu, relu = w.report().sites
    assert (gelu.name, gelu.calls, relu.name, relu.calls) == ("1", 2, "3", 1)
    assert w.report().steps == 2


@pytest.mark.parametrize("reentrant", [False, True])
def test_what_a_checkpoint_computes_again_is_counted_once(reentrant):
    class Checkpointed(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return checkpoint(self.inner, x, use_reentrant=reentrant)

    inner = nn.Sequential(nn.Linear(6, 6), nn.GELU(), nn.Linear(6, 6), nn.ReLU())
    x = torch.randn(10, 6, requires_grad=True)

    def figures(model):
        with watch(model) as w:
            for _ in range(2):
                model(x).square().sum().backward()
        return w.report()

    plain, saved = figures(inner), figures(Checkpointed(inner))
    assert saved.steps == plain.steps == 2
    assert [site.calls for site in saved.sites] == [2, 2]
    for a, b in zip(plain.sites, saved.sites, strict=True):
        assert (a.inputs, a.flat, a.mean) == (b.inputs, b.flat, b.mean)
        assert b.gradient_input == pytest.approx(a.gradient_input)
        assert b.gradient_output == pytest.approx(a.gradient_output)


def test_gradient_accumulation_and_evaluation_count_each_call_once():
    model = nn.Sequential(nn.Linear(6, 6), nn.GELU())
    with watch(model) as w:
        for _ in range(3):
            model(torch.randn(4, 6)).sum().backward()
        with torch.no_grad():
            model(torch.randn(8, 6))
        with torch.inference_mode():
            model(torch.randn(8, 6))
    report = w.report()
    assert (report.steps, report.sites[0].calls, report.sites[0].inputs) == (5, 5, 28)


def test_every_looks_at_some_steps_only():
    model = nn.Sequential(nn.Linear(6, 6), nn.GELU())
    with watch(model, every=3) as w:
        for _ in range(7):
            model(torch.randn(4, 6)).sum().backward()
    report = w.report()
    assert (report.steps, report.observed_steps, report.sites[0].calls) == (7, 3, 3)
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="every"):
            watch(model, every=wrong)


def test_autocast_is_watched_in_its_own_format():
    model = nn.Sequential(nn.Linear(6, 6), nn.GELU(), nn.Linear(6, 6), nn.Tanh())
    with watch(model) as w, torch.autocast("cpu", torch.bfloat16):
        model(torch.randn(30, 6)).float().square().mean().backward()
    first, second = w.report().sites
    assert (first.dtype, first.function, second.function) == ("bfloat16", "gelu", "tanh")
    assert first.gradient_input > 0


def test_watches_nest():
    model = nn.Sequential(nn.Linear(6, 6), nn.GELU(), Calls(F.relu), Calls(sg.silu))
    with watch(model) as outer:
        model(torch.randn(4, 6))
        with watch(model) as inner:
            model(torch.randn(4, 6))
        model(torch.randn(4, 6))
    assert [site.calls for site in outer.report().sites] == [3, 3, 3]
    assert [site.calls for site in inner.report().sites] == [1, 1, 1]
    assert hooks(model) == []
    assert modes() == 0


def test_a_watched_model_can_be_copied_and_saved():
    model = nn.Sequential(nn.Linear(6, 6), nn.GELU())
    with watch(model) as w:
        model(torch.randn(4, 6))
        copied = copy.deepcopy(model)
        read = pickle.loads(pickle.dumps(model))
        copied(torch.randn(4, 6))
    read(torch.randn(4, 6))
    assert w.report().sites[0].calls == 1


def test_ddp_is_looked_through(tmp_path):
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        model = DistributedDataParallel(nn.Sequential(nn.Linear(6, 6), nn.GELU()))
        with watch(model) as w:
            model(torch.randn(4, 6)).sum().backward()
            model(torch.randn(4, 6)).sum().backward()
    finally:
        dist.destroy_process_group()
    (site,) = w.report().sites
    assert (site.name, site.calls, w.report().steps) == ("1", 2, 2)
    assert site.gradient_input > 0
    assert hooks(model) == []


def test_what_has_no_numbers_is_not_counted():
    model = nn.Sequential(nn.Linear(6, 6), nn.GELU(), Calls(F.relu))
    x = torch.randn(5, 6)
    with watch(model) as w:
        per_row = torch.func.vmap(model)(x)
        sparse = Calls(torch.relu)(x)
    assert w.report().sites == ()
    torch.testing.assert_close(per_row, model(x))
    assert sparse.shape == x.shape
    meta = model.to("meta")
    with watch(meta) as w:
        assert meta(x.to("meta")).is_meta
    assert w.report().sites == ()


def test_scripted_modules_are_reported_as_unseen():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch.jit's own
        scripted = torch.jit.script(nn.ReLU())
    model = nn.Sequential(nn.Linear(6, 6), scripted, nn.Tanh())
    with watch(model) as w:
        model(torch.randn(5, 6))
    report = w.report()
    assert [site.function for site in report.sites] == ["tanh"]
    (group,) = report.unseen
    assert group.names == ("1",)
    assert "outside Python" in group.why
    assert [finding.kind for finding in report.findings] == ["unseen"]


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match=r"expected a torch\.nn\.Module"):
        watch(torch.relu)
