// Interface of attention scores: what an author writes, and what it is given.
//
// A scoring function says how well a query matches a key. Masks, softmax,
// dropout, context, capture and the cache for decoding are the framework's. So
// a score is a class of two methods and one line of registration:
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

// Extents that a scoring function is built for. heads is 1 outside multi-head
// attention; parameters carry a leading heads axis.
struct ScoreWidths {
  int64_t heads = 1;
  int64_t query = 0;
  int64_t key = 0;
  // Heads of the keys, a divisor of heads; the parameters of Prepare() lead
  // with it. Equal to heads unless the score declares kGroupedHeads.
  int64_t key_heads = heads;
  // Columns of the layer's inputs x, from which it projects queries and keys; 0
  // if a score is not given them.
  int64_t query_input = 0;
  int64_t key_input = 0;
  // Scope of the slots of AddSlot(), valid during construction. Null: the layer
  // keeps no state.
  const SlotScope* slots = nullptr;

  // Declares a slot of the state, in a constructor:
  // `sum_(widths.AddSlot("sum"))`. Returns its number, or kNoSlot if the layer
  // keeps no state.
  static constexpr int kNoSlot = -1;
  int AddSlot(const std::string& name) const {
    return slots == nullptr ? kNoSlot : slots->Add(name);
  }
};

// Some keys of a source, which follow each other, or all of them.
template <typename T>
struct PrepareInputs {
  Var<T> keys;  // [batch, key heads, keys, key width]
  // Key row j is at position key_position + j.
  int64_t key_position = 0;
  // The input that keys are projected from, [batch, keys, key input]; empty if
  // that width is 0.
  Var<T> x = {};
  // Holds what Prepare() left there for earlier keys, and takes what it leaves
  // for later ones. Null: these are all keys of the source.
  LayerState<T>* state = nullptr;
};

template <typename T>
struct ScoreInputs {
  Var<T> queries;  // [batch, heads, queries, query width]
  Var<T> keys;     // [batch, key heads, keys, prepared width], from Prepare()
  // The input that queries are projected from, [batch, queries, query input];
  // empty if that width is 0.
  Var<T> x;
  // The state as Prepare() left it; null if it had none. A score only reads it:
  // Score() may be called several times, and for parts.
  LayerState<T>* state = nullptr;
  // Positions of the rows of queries and keys in their sequences.
  Positions positions;
  // What is hidden; scores there are ignored, so a score may skip them.
  Mask mask;
  // [batch, heads, queries, keys], given to scores that use history: the
  // weights of the query before, and the sum over all queries before (zeros at
  // first). The queries are then alternatives at one position. Where they are
  // empty in what AttentionLayer is given, each query is the first.
  Var<T> previous_weights;
  Var<T> cumulative_weights;
};

template <typename T>
class ScoringFunction {
 public:
  // Whether a score depends on the positions of query or key. Where that is a
  // matter of its options, it has `static bool PositionAware(const Options&)`.
  static constexpr bool kPositionAware = false;
  // Whether it reads the weights of earlier queries; it then sees one position
  // at a time.
  static constexpr bool kUsesHistory = false;
  // Whether it compares query and key without a projection between them, so
  // that they need one width.
  static constexpr bool kEqualWidths = false;
  // Whether keys may have fewer heads than queries: head h of the queries is
  // compared with head h / (heads / key_heads) of the keys. A score that does
  // not declare it is given each key as often as heads share it.
  static constexpr bool kGroupedHeads = false;
  // Whether Prepare() gives keys another width than the queries have, so that
  // no selection can compare the two.
  static constexpr bool kPreparesOtherWidths = false;

  virtual ~ScoringFunction() = default;

  // Adds what is wrong with the options for these widths, under paths relative
  // to the options. A score with limits besides (range) declares its own, with
  // its options' type; a wrong signature does not compile.
  static void Validate(const auto& options, const ScoreWidths&,
                       ConfigProblems& problems) {
    problems.CheckRanges(options);
  }

  // Projects keys, once per source: [batch, key heads, keys, prepared width].
  // Prepare([a; b], p) = [Prepare(a, p); Prepare(b, p + |a|) given the state
  // that a leaves]. Without a slot of the state, each row is projected by
  // itself.
  virtual Var<T> Prepare(Forward<T>&, const PrepareInputs<T>& inputs) const {
    return inputs.keys;
  }

  // The largest distance |query position - key position| of which Score() knows
  // a score. Data that exceeds it is reported before training, unless
  // `mask.window` hides all pairs beyond it: Score() is then given these too,
  // and returns any finite number for them.
  virtual int64_t LongestDistance() const { return kUnlimited; }

  // The width of the widest array [batch, heads, queries, keys, width] that
  // Score() makes. The rows of a block are fewer for a larger one.
  virtual int64_t NumbersPerPair() const { return 1; }

  // The factor f of a score f q . k of queries and keys as they are, if it is
  // one. Prepare() then returns the keys that it is given.
  virtual std::optional<T> PlainFactor() const { return std::nullopt; }

  // The score as an inner product; nullopt if it is none. Row i of a and of
  // query_bias belongs to query i, and so do b and key_bias to keys. Whether
  // there is a form depends on the options only.
  virtual std::optional<InnerForm<T>> Inner(
      Forward<T>&, const ScoreInputs<T>& inputs) const {
    const std::optional<T> factor = PlainFactor();
    if (!factor.has_value()) return std::nullopt;
    return InnerForm<T>{inputs.queries, inputs.keys, *factor};
  }

  // Unnormalised scores [batch, heads, queries, keys]; -inf is legal. Given
  // some rows of the queries and a range of the keys, with their positions, it
  // gives that part of all scores. By default, the dense form of Inner().
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
