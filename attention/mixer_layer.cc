#include "attention/mixer_layer.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "attention/mixers/mixer.pb.h"
#include "autodiff/arena.h"
#include "autodiff/full_precision_scope.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/shape_ops.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Arguments for TakeRows(). `forward` moves the valid positions of each row to
// the beginning of the row, in order. `back` moves them back.
struct Compaction {
  absl::Span<int64_t> forward;
  absl::Span<int64_t> back;
};

Compaction CompactionOf(absl::Span<const uint8_t> valid, int64_t time,
                        Arena& arena) {
  const auto indices = [&] {
    return absl::MakeSpan(
        arena.New<int64_t>(static_cast<int64_t>(valid.size())), valid.size());
  };
  const Compaction compaction = {indices(), indices()};
  std::fill(compaction.forward.begin(), compaction.forward.end(), kNoRow);
  std::fill(compaction.back.begin(), compaction.back.end(), kNoRow);
  size_t next = 0;
  for (size_t i = 0; i < valid.size(); ++i) {
    if (i % static_cast<size_t>(time) == 0) next = i;
    if (valid[i] == 0) continue;
    compaction.forward[next] = static_cast<int64_t>(i);
    compaction.back[i] = static_cast<int64_t>(next++);
  }
  return compaction;
}

// Calls f(name, term, index) for each array of `terms`.
template <typename Terms, typename F>
void ForEachTerm(Terms& terms, F f) {
  f("queries", terms.queries, 0);
  f("keys", terms.keys, 1);
  f("values", terms.values, 2);
  constexpr const char* kNames[] = {"term 0", "term 1", "term 2", "term 3"};
  static_assert(std::size(kNames) == Terms::kOthers);
  for (int i = 0; i < Terms::kOthers; ++i) {
    f(kNames[i], terms.others[i], 3 + i);
  }
}

}  // namespace

template <typename T>
Var<T> TakeRows(Var<T> x, absl::Span<const int64_t> rows) {
  Tape<T>& tape = x.tape();
  const int64_t width = x.cols();
  REGARD_CHECK_EQ(static_cast<int64_t>(rows.size()), x.rows())
      << "rows to take of " << x.shape();
  Var<T> y = tape.New(x.shape(), x.needs_grad());
  for (size_t i = 0; i < rows.size(); ++i) {
    T* const to = y.data() + static_cast<int64_t>(i) * width;
    if (rows[i] == kNoRow) {
      std::fill_n(to, width, T(0));
    } else {
      std::copy_n(x.data() + rows[i] * width, width, to);
    }
  }
  tape.Record("TakeRows", y, [=] {
    auto d = x.grad_ref();
    if (!d) return;
    T* const d_x = d.BeginAdding();
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] == kNoRow) continue;
      const T* const g = y.grad_data() + static_cast<int64_t>(i) * width;
      T* const to = d_x + rows[i] * width;
      for (int64_t j = 0; j < width; ++j) to[j] += g[j];
    }
  });
  return y;
}

template <typename T>
MixerLayer<T>::MixerLayer(const MixerRegistry& mixers,
                          const MixerConfig& config, const MixerSetup<T>& setup)
    : mixer_(mixers.Create<T>(config, setup)) {
  MixerTerms<T> none;
  ForEachTerm(none, [&](const char* name, Var<T>&, int number) {
    term_slots_[number] = setup.slots.Add(name);
  });
}

template <typename T>
MixerTerms<T> MixerLayer<T>::AppendTerms(const MixerTerms<T>& terms,
                                         const MixerInputs<T>& inputs) const {
  MixerTerms<T> all = terms;
  if (inputs.state == nullptr) return all;
  ForEachTerm(all, [&](const char* name, Var<T>& term, int number) {
    if (!term.has_value()) return;
    const int64_t time = inputs.first_position + term.dim(-2);
    const Var<T> whole = inputs.state->Append(term_slots_[number], term);
    REGARD_CHECK_GE(whole.dim(-2), time)
        << name
        << ": hooks that read weights of a state mixer have to be there "
        << "from the first position on";
    term = Slice(whole, -2, 0, time);
  });
  return all;
}

template <typename T>
Var<T> MixerLayer<T>::Contexts(Forward<T>& forward, const MixerTerms<T>& terms,
                               const MixerInputs<T>& inputs) const {
  const int64_t first = inputs.state == nullptr ? 0 : inputs.first_position;
  const int64_t time = terms.values.dim(2);
  // A state accumulates terms of the whole sequence, so its products need full
  // precision.
  const FullPrecisionScope<T> full(forward.tape());
  const HookRequest request = forward.Request("weights");
  const MixerTerms<T> all =
      request.any() || request.rows.any() ? AppendTerms(terms, inputs) : terms;
  const WeightBlockPosition place = {.offset = first};
  const auto weights = [&] {
    return Slice(mixer_->Matrix(forward, all), 2, first, time);
  };
  const auto contexts = [&] {
    const bool step = inputs.state != nullptr && time == 1;
    return step ? mixer_->Step(forward, terms, inputs.state)
                : mixer_->Chunk(forward, terms, inputs.state);
  };
  if (request.changes_path()) {
    if (inputs.state != nullptr) contexts();  // only updates the state
    return MatMul(forward.WeightsSite("weights", weights(), place), all.values);
  }
  forward.LazySite("weights", weights, place);
  return contexts();
}

template <typename T>
Var<T> MixerLayer<T>::operator()(Forward<T>& forward, Var<T> x,
                                 const MixerInputs<T>& inputs) const {
  const NameScope<T> scope(forward.tape(), "attention");
  Compaction compaction;
  if (!inputs.valid.empty()) {
    REGARD_CHECK(inputs.state == nullptr &&
                 static_cast<int64_t>(inputs.valid.size()) == x.rows())
        << inputs.valid.size() << " marks of positions of " << x.shape()
        << (inputs.state == nullptr ? "" : ", with a state");
    compaction = CompactionOf(inputs.valid, x.dim(1), forward.tape().arena());
    x = TakeRows<T>(x, compaction.forward);
  }
  MixerTerms<T> terms =
      mixer_->Project(forward, x, inputs.first_position, inputs.state);
  const auto site = [&](const char* name, Var<T>& term) {
    if (term.has_value()) term = forward.Site(name, term);
  };
  site("queries", terms.queries);
  site("keys", terms.keys);
  site("values", terms.values);
  const Var<T> contexts =
      forward.Site("context", Contexts(forward, terms, inputs));
  const Var<T> y = mixer_->Output(forward, terms, contexts);
  return inputs.valid.empty() ? y : TakeRows<T>(y, compaction.back);
}

REGARD_INSTANTIATE_FUNCTION(TakeRows);
REGARD_INSTANTIATE_CLASS(MixerLayer);

}  // namespace regard
