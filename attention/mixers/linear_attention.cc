#include "attention/mixers/linear_attention.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "attention/mixers/decayed_products.h"
#include "attention/position_encodings/built_in_position_encodings.h"
#include "attention/position_encodings/position_encoding.pb.h"
#include "attention/scoring_function.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/ops/shape_ops.h"
#include "nn/initializers.h"

namespace regard {

namespace {

using Options = LinearAttentionMixer;

// width of the intermediate values of channel decays
constexpr int64_t kNarrow = 16;
constexpr double kRoot = 16;  // channel decays are sigmoid(z)^(1 / kRoot)

bool Normalizes(const Options& options) {
  return options.has_normalize()
             ? options.normalize()
             : options.feature_map() == Options::ELU_PLUS_ONE;
}

// Sets the options that depend on the width of the layer.
Options WithDefaults(Options options, int64_t width) {
  const int32_t heads = options.heads();
  if (options.key_heads() == 0) options.set_key_heads(heads);
  options.set_key_width(HeadWidth(options.key_width(), width, heads));
  options.set_value_width(HeadWidth(options.value_width(), width, heads));
  if (!options.has_convolution()) options.mutable_convolution()->set_width(0);
  return options;
}

LinearOptions Projection(LinearOptions options, bool bias) {
  options.bias = bias;
  return options;
}

// Repeats each key head of x [rows, key heads, time, width] for all heads that
// share it.
template <typename T>
Var<T> ForAllHeads(Var<T> x, int64_t heads) {
  const Shape& shape = x.shape();
  if (shape[1] == heads) return x;
  const Shape grouped = {shape[0], shape[1], 1, shape[2], shape[3]};
  return BroadcastTo(x.Reshape(grouped), grouped.With(2, heads / shape[1]))
      .Reshape({shape[0], heads, shape[2], shape[3]});
}

}  // namespace

bool RequireHeadWidth(const char* name, int32_t given, int64_t whole,
                      int32_t heads, ConfigProblems& problems) {
  if (given > 0 || (whole >= heads && whole % heads == 0)) return true;
  problems.Add("heads", absl::StrCat("must divide ", whole, " unless `", name,
                                     "` is set; got ", heads));
  return false;
}

void RequireTotalWidthFits(const char* name, int32_t of_head, int32_t heads,
                           ConfigProblems& problems) {
  if (int64_t{of_head} * heads <= 1 << 30) return;
  problems.Add(name, absl::StrCat("times `heads` must be at most 2^30; got ",
                                  of_head, " times ", heads));
}

template <typename T>
LinearAttention<T>::LinearAttention(const Options& options,
                                    const MixerSetup<T>& setup)
    : options_(WithDefaults(options, setup.width)),
      normalizes_(Normalizes(options)),
      state_(setup.slots.Add("state")),
      query_(setup, "query", options_.key_heads() * options_.key_width(),
             Projection(setup.inputs, options.bias()), options_.convolution()),
      key_(setup, "key", options_.key_heads() * options_.key_width(),
           Projection(setup.inputs, options.bias()), options_.convolution()),
      value_(setup, "value", options_.heads() * options_.value_width(),
             Projection(setup.inputs, options.bias()), options_.convolution()),
      output_(setup.scope.Sub("output"),
              options_.heads() * options_.value_width(), setup.width,
              Projection(setup.output, options.bias())) {
  const ParameterScope<T>& scope = setup.scope;
  const int64_t heads = options_.heads();
  const int64_t value_width = options_.value_width();
  if (options.gate()) {
    gate_.emplace(scope.Sub("gate"), setup.width, heads * value_width,
                  Projection(setup.inputs, options.bias()));
  }
  if (options.norm() != Options::NO_NORM) {
    norm_.emplace(scope.Sub("norm"),
                  options.norm() == Options::HEAD_NORM ? value_width
                                                       : heads * value_width,
                  NormOptions{.rms = true});
  }
  if (options.skip()) {
    skip_ = scope.Add("skip", {heads, 1, 1}, Constant(1),
                      {.role = ParameterRole::kHeadBias});
  }
  if (options.rotary()) {
    PositionEncodingRegistry encodings;
    RegisterBuiltInPositionEncodings(encodings);
    PositionEncodingConfig config;
    config.mutable_rotary();
    rotary_ = encodings.Create<T>(config, scope.Sub("rotary"),
                                  ScoreWidths{.heads = options_.key_heads(),
                                              .query = options_.key_width(),
                                              .key = options_.key_width()});
  }
  if (options.decay() == Options::HEAD) {
    head_decay_.emplace(setup, LearnedDecayWidths{heads});
  } else if (options.decay() == Options::CHANNEL) {
    narrow_decay_.emplace(scope.Sub("narrow_decay"), setup.width, kNarrow,
                          Projection(setup.inputs, /*bias=*/false));
    decay_.emplace(scope.Sub("decay"), kNarrow, heads * options_.key_width(),
                   Projection(setup.inputs, /*bias=*/true));
  }
}

template <typename T>
void LinearAttention<T>::Validate(const Options& options, const int64_t& width,
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
  if (complete.heads() % complete.key_heads() != 0) {
    problems.Add("key_heads",
                 absl::StrCat("must divide `heads` (", complete.heads(),
                              "); got ", complete.key_heads()));
  }
  RequireTotalWidthFits("key_width", complete.key_width(), complete.heads(),
                        problems);
  RequireTotalWidthFits("value_width", complete.value_width(), complete.heads(),
                        problems);
  if (options.rotary() && complete.key_width() % 2 != 0) {
    problems.Add("rotary", absl::StrCat("requires an even `key_width`, because "
                                        "dimensions rotate in pairs; got ",
                                        complete.key_width()));
  }
  if (options.normalize() && options.feature_map() != Options::ELU_PLUS_ONE) {
    problems.Add("normalize",
                 "requires feature_map: ELU_PLUS_ONE, because the sum of "
                 "weights of either sign can be 0");
  }
  if (Normalizes(options) && options.rotary()) {
    problems.Add("rotary",
                 "requires normalize: false, because rotated queries and keys "
                 "are not positive");
  }
  if (Normalizes(options) && options.skip()) {
    problems.Add("skip", "requires normalize: false");
  }
  if (options.step_size() && options.decay() != Options::HEAD) {
    problems.Add("step_size", "requires decay: HEAD");
  }
  if (options.norm() == Options::GATED_NORM && !options.gate()) {
    problems.Add("norm", "GATED_NORM requires `gate: true`");
  }
}

template <typename T>
Var<T> LinearAttention<T>::MapFeatures(Var<T> x) const {
  switch (options_.feature_map()) {
    case Options::ELU_PLUS_ONE:
      return Relu(x) + Exp(Minimum(x, x.tape().Full({}, T(0))));
    case Options::SILU:
      return Silu(x);
    default:
      return x;
  }
}

template <typename T>
Var<T> LinearAttention<T>::LogDecay(Forward<T>& forward, Var<T> x,
                                    Var<T>* step_size) const {
  const int64_t heads = options_.heads();
  switch (options_.decay()) {
    case Options::FIXED: {
      const Var<T> decay = forward.tape().Constant({1, heads, 1, 1});
      for (int64_t h = 0; h < heads; ++h) {
        decay.data()[h] =
            static_cast<T>(std::log1p(-std::exp2(-5 - static_cast<double>(h))));
      }
      return BroadcastTo(decay, {x.dim(0), heads, x.dim(1), 1});
    }
    case Options::HEAD:
      return (*head_decay_)(forward, x, step_size);
    case Options::CHANNEL: {
      const Var<T> z = (*decay_)(forward, (*narrow_decay_)(forward, x));
      return ReshapeToHeads(Softplus(-z) * static_cast<T>(-1 / kRoot), heads);
    }
    default:
      return {};
  }
}

template <typename T>
MixerTerms<T> LinearAttention<T>::Project(Forward<T>& forward, Var<T> x,
                                          int64_t first_position,
                                          LayerState<T>* state) const {
  const int64_t heads = options_.heads();
  const auto project = [&](const ConvolvedLinear<T>& layer) {
    Var<T> y = MapFeatures(
        ReshapeToHeads(layer(forward, x, state), options_.key_heads()));
    if (rotary_ != nullptr) y = rotary_->Encode(forward, y, first_position, 1);
    return ForAllHeads(y, heads);
  };
  MixerTerms<T> terms;
  terms.queries = project(query_);
  if (options_.scale()) {
    terms.queries =
        terms.queries / std::sqrt(static_cast<T>(options_.key_width()));
  }
  terms.keys = project(key_);
  terms.values = ReshapeToHeads(value_(forward, x, state), heads);
  Var<T> step_size;
  terms.others[kLogDecay] = LogDecay(forward, x, &step_size);
  if (options_.step_size()) terms.keys = terms.keys * step_size;
  if (gate_.has_value()) {
    terms.others[kGate] = Silu((*gate_)(forward, x));
  }
  return terms;
}

template <typename T>
DecayedInputs<T> LinearAttention<T>::RecurrenceInputs(
    const MixerTerms<T>& terms, const LayerState<T>* state) const {
  DecayedInputs<T> in = {.queries = terms.queries,
                         .keys = terms.keys,
                         .values = terms.values,
                         .log_decay = terms.others[kLogDecay]};
  if (state != nullptr) in.state = state->RowValue(state_);
  if (normalizes_) {
    // Appends a channel of ones to the values. The output in this channel is
    // the sum of the weights.
    const Var<T> ones =
        terms.values.tape().Full(terms.values.shape().With(3, 1), T(1));
    in.values = Concat<T>({terms.values, ones}, -1);
  }
  return in;
}

template <typename T>
Var<T> LinearAttention<T>::Contexts(Forward<T>& forward,
                                    const MixerTerms<T>& terms,
                                    const DecayedOutputs<T>& outputs,
                                    LayerState<T>* state) const {
  if (state != nullptr) state->SetRowValue(state_, outputs.state);
  Var<T> contexts = outputs.outputs;
  if (normalizes_) {
    const int64_t width = options_.value_width();
    contexts = Slice(contexts, -1, 0, width) / Slice(contexts, -1, width, 1);
  }
  if (skip_.has_value()) contexts = contexts + terms.values * forward[skip_];
  return contexts;
}

template <typename T>
Var<T> LinearAttention<T>::Step(Forward<T>& forward, const MixerTerms<T>& terms,
                                LayerState<T>* state) const {
  return Contexts(forward, terms, DecayedStep(RecurrenceInputs(terms, state)),
                  state);
}

template <typename T>
Var<T> LinearAttention<T>::Chunk(Forward<T>& forward,
                                 const MixerTerms<T>& terms,
                                 LayerState<T>* state) const {
  return Contexts(forward, terms,
                  DecayedRecurrence(RecurrenceInputs(terms, state)), state);
}

template <typename T>
Var<T> LinearAttention<T>::Matrix(Forward<T>& forward,
                                  const MixerTerms<T>& terms) const {
  Var<T> weights =
      DecayedProducts(terms.queries, terms.keys, terms.others[kLogDecay]);
  if (normalizes_) weights = weights / Sum(weights, -1, /*keep=*/true);
  if (!skip_.has_value()) return weights;
  const int64_t time = terms.values.dim(2);
  const Var<T> identity = forward.tape().Full({time, time}, T(0));
  for (int64_t t = 0; t < time; ++t) identity.at(t, t) = T(1);
  return weights + identity * forward[skip_];
}

template <typename T>
Var<T> LinearAttention<T>::Output(Forward<T>& forward,
                                  const MixerTerms<T>& terms,
                                  Var<T> contexts) const {
  if (options_.norm() == Options::HEAD_NORM) {
    contexts = (*norm_)(forward, contexts);
  }
  const Shape& shape = contexts.shape();
  Var<T> joined = Permute(contexts, {0, 2, 1, 3})
                      .Reshape({shape[0], shape[2], shape[1] * shape[3]});
  if (gate_.has_value()) joined = joined * terms.others[kGate];
  if (options_.norm() == Options::GATED_NORM) {
    joined = (*norm_)(forward, joined);
  }
  return output_(forward, joined);
}

REGARD_INSTANTIATE_CLASS(LinearAttention);
REGARD_STATE_MIXER(LinearAttention, "S = exp(g) S + k v^T, o = S^T q")

}  // namespace regard
