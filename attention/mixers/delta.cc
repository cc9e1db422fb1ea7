#include "attention/mixers/delta.h"

#include <cmath>
#include <cstddef>

#include "attention/mixers/linear_attention.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/norm.h"
#include "autodiff/ops/shape_ops.h"

namespace regard {

namespace {

using Options = DeltaMixer;

constexpr double kMinSquare = 1e-6;  // added to the squared length of a row

// Sets the options that depend on the width of the layer.
Options WithDefaults(Options options, int64_t width) {
  const int32_t heads = options.heads();
  options.set_key_width(HeadWidth(options.key_width(), width, heads));
  options.set_value_width(HeadWidth(options.value_width(), width, heads));
  if (!options.has_convolution()) options.mutable_convolution()->set_width(0);
  return options;
}

LinearOptions WithBias(bool bias, LinearOptions options) {
  options.bias = bias;
  return options;
}

// Scales the rows of x [.., width] to the length `length`. Rows with a length
// far below sqrt(kMinSquare) stay shorter.
template <typename T>
Var<T> WithLength(Var<T> x, double length) {
  const auto width = static_cast<double>(x.cols());
  const Var<T> gain =
      x.tape().Full({x.cols()}, static_cast<T>(length / std::sqrt(width)));
  return RmsNorm(x, gain, static_cast<T>(kMinSquare / width));
}

}  // namespace

template <typename T>
Delta<T>::Delta(const Options& options, const MixerSetup<T>& setup)
    : options_(WithDefaults(options, setup.width)),
      state_(setup.slots.Add("state")),
      query_(setup, "query", options_.heads() * options_.key_width(),
             WithBias(false, setup.inputs), options_.convolution()),
      key_(setup, "key", options_.heads() * options_.key_width(),
           WithBias(false, setup.inputs), options_.convolution()),
      value_(setup, "value", options_.heads() * options_.value_width(),
             WithBias(false, setup.inputs), options_.convolution()),
      rate_(setup.scope.Sub("rate"), setup.width, options_.heads(),
            WithBias(false, setup.inputs)),
      output_(setup.scope.Sub("output"),
              options_.heads() * options_.value_width(), setup.width,
              WithBias(false, setup.output)),
      norm_(setup.scope.Sub("norm"), options_.value_width(), {.rms = true}) {
  const ParameterScope<T>& scope = setup.scope;
  const int64_t heads = options_.heads();
  const int64_t value_width = options_.value_width();
  if (options.decay() == Options::HEAD) {
    decay_.emplace(setup, LearnedDecayWidths{heads});
  } else if (options.decay() == Options::CHANNEL) {
    decay_.emplace(setup, LearnedDecayWidths{heads, options_.key_width(),
                                             /*narrow=*/value_width});
  }
  if (options.gate() == Options::SILU_GATE) {
    gate_.emplace(scope.Sub("gate"), setup.width, heads * value_width,
                  WithBias(false, setup.inputs));
  } else if (options.gate() == Options::NARROW_SIGMOID_GATE) {
    narrow_gate_.emplace(scope.Sub("narrow_gate"), setup.width, value_width,
                         WithBias(false, setup.inputs));
    gate_.emplace(scope.Sub("gate"), value_width, heads * value_width,
                  WithBias(true, setup.inputs));
  }
}

template <typename T>
void Delta<T>::Validate(const Options& options, const int64_t& width,
                        ConfigProblems& problems) {
  const size_t before = problems.problems().size();
  problems.CheckRanges(options);
  if (problems.problems().size() > before) return;
  RequireHeadWidth("key_width", options.key_width(), width, options.heads(),
                   problems);
  RequireHeadWidth("value_width", options.value_width(), width, options.heads(),
                   problems);
  if (problems.problems().size() > before) return;
  const Options complete = WithDefaults(options, width);
  RequireTotalWidthFits("key_width", complete.key_width(), complete.heads(),
                        problems);
  RequireTotalWidthFits("value_width", complete.value_width(), complete.heads(),
                        problems);
}

template <typename T>
MixerTerms<T> Delta<T>::Project(Forward<T>& forward, Var<T> x,
                                int64_t /*first_position*/,
                                LayerState<T>* state) const {
  const int64_t heads = options_.heads();
  // A convolution layer applies Silu() itself.
  const auto project = [&](const ConvolvedLinear<T>& layer) {
    const Var<T> y = layer(forward, x, state);
    return ReshapeToHeads(options_.convolution().width() > 0 ? y : Silu(y),
                          heads);
  };
  MixerTerms<T> terms;
  terms.queries =
      WithLength(project(query_), 1 / std::sqrt(options_.key_width()));
  terms.keys = WithLength(project(key_), 1);
  terms.values = project(value_);
  const Var<T> rates = ReshapeToHeads(Sigmoid(rate_(forward, x)), heads);
  terms.others[kRates] =
      options_.eigenvalues() == Options::MINUS_ONE_ONE ? rates * 2 : rates;
  if (decay_.has_value()) terms.others[kLogDecay] = (*decay_)(forward, x);
  if (narrow_gate_.has_value()) {
    terms.others[kGate] =
        Sigmoid((*gate_)(forward, (*narrow_gate_)(forward, x)));
  } else if (gate_.has_value()) {
    terms.others[kGate] = Silu((*gate_)(forward, x));
  }
  return terms;
}

template <typename T>
DeltaInputs<T> Delta<T>::RecurrenceInputs(const MixerTerms<T>& terms,
                                          const LayerState<T>* state) const {
  DeltaInputs<T> in = {{.queries = terms.queries,
                        .keys = terms.keys,
                        .values = terms.values,
                        .log_decay = terms.others[kLogDecay]},
                       terms.others[kRates]};
  if (state != nullptr) in.decayed.state = state->RowValue(state_);
  return in;
}

template <typename T>
Var<T> Delta<T>::Step(Forward<T>& /*forward*/, const MixerTerms<T>& terms,
                      LayerState<T>* state) const {
  const DecayedOutputs<T> out = DeltaStep(RecurrenceInputs(terms, state));
  if (state != nullptr) state->SetRowValue(state_, out.state);
  return out.outputs;
}

template <typename T>
Var<T> Delta<T>::Chunk(Forward<T>& /*forward*/, const MixerTerms<T>& terms,
                       LayerState<T>* state) const {
  const DecayedOutputs<T> out = DeltaRecurrence(RecurrenceInputs(terms, state));
  if (state != nullptr) state->SetRowValue(state_, out.state);
  return out.outputs;
}

template <typename T>
Var<T> Delta<T>::Matrix(Forward<T>& /*forward*/,
                        const MixerTerms<T>& terms) const {
  return DeltaMatrix(RecurrenceInputs(terms, nullptr));
}

template <typename T>
Var<T> Delta<T>::Output(Forward<T>& forward, const MixerTerms<T>& terms,
                        Var<T> contexts) const {
  contexts = norm_(forward, contexts);
  const Shape& shape = contexts.shape();
  Var<T> joined = Permute(contexts, {0, 2, 1, 3})
                      .Reshape({shape[0], shape[2], shape[1] * shape[3]});
  if (gate_.has_value()) joined = joined * terms.others[kGate];
  return output_(forward, joined);
}

REGARD_INSTANTIATE_CLASS(Delta);
REGARD_STATE_MIXER(Delta, "S = (I - b k k^T) exp(g) S + b k v^T, o = S^T q")

}  // namespace regard
