// Interface of attention scores. A scoring function returns how well a query
// matches a key. The layer provides everything else: masks, softmax, dropout,
// the context, hooks, and the cache for decoding.
//
// A score is a class with a constructor, one method and one line of
// registration:
//
//   template <typename T>
//   class SquaredDot : public ScoringFunction<T> {
//    public:
//     using Options = SquaredDotScore;
//     SquaredDot(const Options&, ParameterScope<T>, const ScoreWidths&) {}
//     Var<T> Score(Forward<T>&, const ScoreInputs<T>& in) const override {
//       return Square(InnerProducts(in.queries, in.keys));
//     }
//   };
//   REGARD_SCORING_FUNCTION(SquaredDot, "(q . k)^2")
//
// A score that is an inner product defines Inner() instead of Score(). The
// layer then computes it in blocks: docs/attention_drivers.md.
#ifndef ATTENTION_SCORING_FUNCTION_H_
#define ATTENTION_SCORING_FUNCTION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "attention/kernels/inner_form.h"
#include "attention/layer_state.h"
#include "attention/mask.h"
#include "attention/positions.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "options/config_problems.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

// The sizes that a scoring function is constructed with. `heads` is 1 outside
// multi-head attention. A parameter that differs between heads has a leading
// axis of heads.
struct ScoreWidths {
  int64_t heads = 1;
  int64_t query = 0;
  int64_t key = 0;
  // Number of key heads, a divisor of `heads`. If Prepare() reads a parameter
  // that differs between heads, its leading axis has the key heads. Equal to
  // `heads` unless the score declares kGroupedHeads.
  int64_t key_heads = heads;
  // Widths of the layer's inputs x, from which it projects queries and keys. 0
  // if the score does not receive them.
  int64_t query_input = 0;
  int64_t key_input = 0;
  // Scope of the slots of AddStateSlot(), valid during construction. Null if
  // the layer keeps no state.
  const SlotScope* slots = nullptr;

  // Declares a slot of the state, in a constructor:
  // `sum_(widths.AddStateSlot("sum"))`. Returns the index of the slot, or
  // kNoSlot if the layer keeps no state.
  static constexpr int kNoSlot = -1;
  int AddStateSlot(const std::string& name) const {
    return slots == nullptr ? kNoSlot : slots->Add(name);
  }
};

// Successive keys of a source, or all of its keys.
template <typename T>
struct PrepareInputs {
  Var<T> keys;  // [batch, key heads, keys, key width]
  // Key row j is at position key_position + j.
  int64_t key_position = 0;
  // The input from which keys are projected, [batch, keys, key input]. Empty if
  // key_input is 0.
  Var<T> x = {};
  // The state after the earlier keys. Prepare() reads it and updates it for
  // later keys. Null if `keys` are all keys of the source.
  LayerState<T>* state = nullptr;
};

template <typename T>
struct ScoreInputs {
  Var<T> queries;  // [batch, heads, queries, query width]
  Var<T> keys;     // [batch, key heads, keys, prepared width], from Prepare()
  // The input from which queries are projected, [batch, queries, query input].
  // Empty if query_input is 0.
  Var<T> x;
  // The state after Prepare(), or null if Prepare() had no state. Score() must
  // not change the state, because the layer may call Score() more than once,
  // for example for each block of queries.
  LayerState<T>* state = nullptr;
  // Positions of the rows of queries and keys.
  Positions positions;
  // The mask. Scores of masked keys are ignored, so a score may skip them.
  Mask mask;
  // Weights of earlier queries, for scores that use history: the previous
  // query's weights, and the sum over all previous queries. Both are [batch,
  // heads, queries, keys], and zero for the first query. The queries of a call
  // with history are alternatives at one position. If both arrays are empty in
  // the inputs of AttentionLayer, each query counts as the first.
  Var<T> previous_weights;
  Var<T> cumulative_weights;
};

template <typename T>
class ScoringFunction {
 public:
  // Whether the score itself depends on the positions of query or key. The
  // layer's position encoding does not count. If this depends on the options,
  // define `static bool PositionAware(const Options&)`.
  static constexpr bool kPositionAware = false;
  // Whether the score reads the weights of earlier queries. Such a score
  // receives the queries of one position at a time.
  static constexpr bool kUsesHistory = false;
  // Whether queries and keys must have the same width, because the score
  // compares them without a projection.
  static constexpr bool kEqualWidths = false;
  // Whether keys may have fewer heads than queries. Head h of the queries is
  // then compared with head h / (heads / key_heads) of the keys. If false, the
  // score receives a copy of each key for each head that shares it.
  static constexpr bool kGroupedHeads = false;
  // Whether Prepare() changes the width of the keys, so that a selection cannot
  // compare them with queries.
  static constexpr bool kPreparesOtherWidths = false;

  virtual ~ScoringFunction() = default;

  // Adds the problems of the options for these widths, under paths relative to
  // the options. A score with limits other than (range) defines its own
  // Validate(), with the type of its options. A wrong signature does not
  // compile.
  static void Validate(const auto& options, const ScoreWidths&,
                       ConfigProblems& problems) {
    problems.CheckRanges(options);
  }

  // Projects keys, once per source, to [batch, key heads, keys, prepared
  // width]. Prepare([a; b], p) must equal [Prepare(a, p); Prepare(b, p + |a|)],
  // where the second call reads the state that the first one wrote. A score
  // that declares no slots must project each row independently.
  virtual Var<T> Prepare(Forward<T>&, const PrepareInputs<T>& inputs) const {
    return inputs.keys;
  }

  // The largest distance |query position - key position| for which Score() is
  // defined. Regard rejects data with greater distances before training, unless
  // `mask.window` masks all pairs at these distances. Score() also receives the
  // masked pairs, and may return any finite number for them.
  virtual int64_t MaxDistance() const { return kUnlimited; }

  // The width of the widest array [batch, heads, queries, keys, width] that
  // Score() makes. A greater width makes blocks of queries smaller.
  virtual int64_t WidthPerPair() const { return 1; }

  // The factor f if the score is f (q . k), where q and k are the unchanged
  // queries and keys. Otherwise `nullopt`. If there is a factor, Prepare() must
  // return the keys that it receives.
  virtual std::optional<T> PlainFactor() const { return std::nullopt; }

  // The score as an inner product, or `nullopt` if the score cannot be written
  // as an InnerForm. This choice may depend only on the options. Row i of `a`
  // and of query_bias belongs to query i. Row j of `b` and of key_bias belongs
  // to key j.
  virtual std::optional<InnerForm<T>> Inner(
      Forward<T>&, const ScoreInputs<T>& inputs) const {
    const std::optional<T> factor = PlainFactor();
    if (!factor.has_value()) return std::nullopt;
    return InnerForm<T>{inputs.queries, inputs.keys, *factor};
  }

  // Unnormalized scores [batch, heads, queries, keys]. A score of -inf masks
  // the key. Such a score must not come from a matrix product of infinities,
  // whose gradient is NaN. The inputs may contain only a part of the queries
  // and keys of a call, with their positions. The result must then be the
  // scores of this part. The default implementation computes Inner() for all
  // pairs of query and key.
  virtual Var<T> Score(Forward<T>& forward,
                       const ScoreInputs<T>& inputs) const {
    const std::optional<InnerForm<T>> form = Inner(forward, inputs);
    REGARD_CHECK(form.has_value())
        << "a score defines Score(), Inner() or PlainFactor()";
    return DenseScores(*form, inputs.positions);
  }
};

}  // namespace regard

#endif  // ATTENTION_SCORING_FUNCTION_H_
