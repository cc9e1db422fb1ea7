// The benchmark that the macro scoring_function() generates for every scoring
// function.
#ifndef ATTENTION_TESTING_SCORING_FUNCTION_BENCHMARK_BODY_H_
#define ATTENTION_TESTING_SCORING_FUNCTION_BENCHMARK_BODY_H_

#include <string>
#include <vector>

#include "attention/attention_registry.h"

namespace regard {

struct ScoringFunctionCase {
  void (*register_score)(AttentionRegistry& scorers);
  const char* options;  // a text proto
};

// Measures the time of a forward and backward pass of attention with each
// score. The two problems are a decoder step (32 examples, one query, 20 keys)
// and self-attention (4 heads, 64 queries and keys). Returns the exit code of
// the program.
int BenchmarkScoringFunction(int argc, char** argv,
                             const std::vector<ScoringFunctionCase>& cases);

}  // namespace regard

#endif  // ATTENTION_TESTING_SCORING_FUNCTION_BENCHMARK_BODY_H_
