// Attention problems in double precision, and the results of a scoring function
// for them. The checks of scores compare these results.
#ifndef ATTENTION_CHECKS_SCORING_PROBLEM_H_
#define ATTENTION_CHECKS_SCORING_PROBLEM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/attend.h"
#include "attention/attention_registry.h"
#include "attention/layer_state.h"
#include "attention/mask.h"
#include "attention/positions.h"
#include "attention/scoring_function.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "google/protobuf/message.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

class Attention;

// A row-major array.
struct TestArray {
  Shape shape;
  std::vector<double> values;
};

// Returns values drawn from U(-1, 1). A value depends only on `purpose` and on
// its index.
TestArray RandomArray(const Shape& shape, const std::string& purpose);

// Gathers along `axis`: element i of the result is element indices[i] of
// `array`.
TestArray Take(const TestArray& array, int axis,
               absl::Span<const int64_t> indices);

// The integers begin .. end - 1.
std::vector<int64_t> Range(int64_t begin, int64_t end);

struct ScoringProblem {
  TestArray queries;     // [batch, heads, queries, query width]
  TestArray keys;        // [batch, heads, keys, key width]
  TestArray values;      // [batch, heads, keys, value width]
  TestArray previous;    // [batch, heads, queries, keys]
  TestArray cumulative;  // the shape of `previous`; rank 0 if absent
  // The inputs x of queries and of keys, [batch, queries or keys, input]. Rank
  // 0 if absent.
  TestArray query_x;
  TestArray key_x;
  std::vector<int32_t> key_lengths;
  std::vector<uint8_t> dense;
  std::vector<int64_t> excluded;
  bool causal = false;
  int64_t window = 0;
  Positions positions;

  // A problem with random values for `widths`, without a mask.
  static ScoringProblem Random(int64_t batch, int64_t queries, int64_t keys,
                               const ScoreWidths& widths);

  // The problem restricted to the examples, queries or keys with these indices,
  // without mask and positions.
  ScoringProblem TakeExamplesWithoutMask(
      absl::Span<const int64_t> indices) const;
  ScoringProblem TakeQueriesWithoutMask(
      absl::Span<const int64_t> indices) const;
  ScoringProblem TakeKeysWithoutMask(absl::Span<const int64_t> indices) const;

  Mask mask() const {
    return {.key_lengths = key_lengths,
            .causal = causal,
            .window = window,
            .dense = dense,
            .excluded = excluded};
  }
};

// Weights, context and gradients. The gradients are derivatives of the sum of
// two fixed random projections, one of the weights and one of the context.
struct ScoringResult {
  TestArray weights;
  TestArray context;
  TestArray d_queries;
  TestArray d_keys;
  TestArray d_values;
  TestArray d_query_x;  // rank 0 if the problem has no inputs
  TestArray d_key_x;
  std::map<std::string, TestArray> d_parameters;
};

// Returns the attention config that chooses a score by its options, in a member
// of the oneof or in an extension of OutsideScore. If there is neither, the
// config chooses no score.
Attention ConfigFor(const google::protobuf::Message& options);

// A scoring function with its own parameters.
template <typename T>
class ScorerUnderTest {
 public:
  ScorerUnderTest(const AttentionRegistry& registry, const Attention& config,
                  const ScoreWidths& widths, uint64_t seed = 1);
  ScorerUnderTest(const AttentionRegistry& registry,
                  const google::protobuf::Message& options,
                  const ScoreWidths& widths, uint64_t seed = 1)
      : ScorerUnderTest(registry, ConfigFor(options), widths, seed) {}

  ParameterStore<T>& store() { return store_; }
  // The scoring function without its layer. Its parameters are in
  // scorer_store(), with the same names and shapes as in store().
  const ScoringFunction<T>& scorer() const { return *scorer_; }
  const ParameterStore<T>& scorer_store() const { return scorer_store_; }
  const AttentionLayer<T>& attender() const { return *attention_; }
  void set_training(bool training) { tape_.set_training(training); }

  // The result with gradients that come from both the weights and the context.
  ScoringResult Compute(const ScoringProblem& problem) {
    return Compute(problem, {.want_weights = true, .project_weights = true});
  }
  // Results whose gradients come only from the context. Only
  // ComputeWeightsAndContext() also computes the weights.
  ScoringResult ComputeContextOnly(const ScoringProblem& problem) {
    return Compute(problem, {.want_weights = false, .project_weights = false});
  }
  ScoringResult ComputeWeightsAndContext(const ScoringProblem& problem) {
    return Compute(problem, {.want_weights = true, .project_weights = false});
  }
  // The fault that a FaultFinder finds in Compute(). Empty if there is none.
  std::string FindNanOrInfinity(const ScoringProblem& problem);
  bool HasInnerForm(const ScoringProblem& problem);

  TestArray Scores(const ScoringProblem& problem);
  // The scores of the chosen queries and keys. All keys of the problem are
  // prepared together. The positions of the chosen rows must be successive.
  TestArray ScoresOfPart(const ScoringProblem& problem,
                         absl::Span<const int64_t> queries,
                         absl::Span<const int64_t> keys);
  // The prepared keys of the problem. If `parts` is empty, one call prepares
  // all keys, without a state. Otherwise, call i prepares parts[i] keys, and
  // all calls share a state.
  TestArray PrepareKeysInParts(const ScoringProblem& problem,
                               absl::Span<const int64_t> parts);
  // Number of slots that the score declares.
  int num_slots() const { return scorer_slots_.size(); }
  // Prepares keys one by one. Query i is at position i and sees the keys 0 ..
  // i. Only the context of the result is set. With want_weights, each step also
  // computes weights.
  ScoringResult ComputeContextStepwise(const ScoringProblem& problem,
                                       bool want_weights);

 private:
  struct Wanted {
    bool want_weights;
    bool project_weights;
  };

  ScoringResult Compute(const ScoringProblem& problem, Wanted wanted);
  Var<T> Input(const TestArray& array);
  // The inputs of Score(), whose keys are not prepared, and the inputs of
  // Prepare().
  ScoreInputs<T> Inputs(const ScoringProblem& problem);
  PrepareInputs<T> KeyInputs(const ScoringProblem& problem);

  // Begins a step of the scorer with the values of store().
  Forward<T>& BeginScorerStep();

  ParameterStore<T> store_;
  StateSlotNames slots_;
  std::unique_ptr<AttentionLayer<T>> attention_;
  ParameterStore<T> scorer_store_;
  StateSlotNames scorer_slots_;
  std::unique_ptr<ScoringFunction<T>> scorer_;
  std::unique_ptr<GradientSlab<T>> gradients_;
  Tape<T> tape_;
  std::unique_ptr<Forward<T>> forward_;
  std::unique_ptr<Forward<T>> scorer_forward_;
};

}  // namespace regard

#endif  // ATTENTION_CHECKS_SCORING_PROBLEM_H_
