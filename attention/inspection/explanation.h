// Explains why a head attends to a key. Writes the score of a query and a key
// as a sum over pairs of sources in the residual stream. The query reads the
// first source of a pair, and the key reads the second one (Elhage et al., "A
// mathematical framework for transformer circuits", 2021).
//
// residual_sources.h lists the sources. One more source contains everything
// that does not depend on the input, such as biases of projections. The sum of
// all terms is the score that attention has computed. Explain() only reads and
// replaces values at hook points, so it does not depend on the model.
#ifndef ATTENTION_INSPECTION_EXPLANATION_H_
#define ATTENTION_INSPECTION_EXPLANATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attention/inspection/residual_sources.h"
#include "attention/inspection/trace.h"
#include "nn/forward.h"

namespace regard {

struct ExplainOptions {
  // Pattern that matches one attention layer. It matches the scope of the
  // layer, or its hook point `weights` or `scores`, such as
  // "decoder/layers[1]/self/attention/weights".
  std::string site = {};
  // Indices, counted from 0. -1 selects the only head, the last query, or the
  // key with the largest weight.
  int64_t head = -1;
  int64_t query = -1;
  int64_t key = -1;
};

struct ScoreSource {
  // Absent for the last source, which contains rounding errors and everything
  // that does not depend on the input, such as biases of projections.
  std::optional<ResidualSourceId> source = {};
  // `as_query` is the sum of the terms in which the query reads this source.
  // `as_key` is the sum of the terms in which the key reads this source.
  double as_query = 0;
  double as_key = 0;

  // Returns ResidualSourceId::Name(), or "biases" if `source` is absent.
  std::string Name() const;
};

struct ScoreExplanation {
  std::string site = {};  // ends with "weights"
  int64_t head = 0;
  int64_t query = 0;
  int64_t key = 0;
  std::string query_label = {};  // the token that the position reads
  std::string key_label = {};
  double weight = 0;
  // Input of the normalizer: the score plus the biases that the layer adds.
  double score = 0;
  // Biases that the layer adds to the score: `distance_bias` from ALiBi or
  // relative buckets, and `forgetting` from the forget gate. A bias is 0 if the
  // layer does not have it.
  double distance_bias = 0;
  double forgetting = 0;
  // Sources that reach the query or the key, in the order of the pass. The
  // source that does not depend on the input is last.
  std::vector<ScoreSource> sources = {};
  // [sources, sources]. Row a, column b is the term in which the query reads
  // source a and the key reads source b. `total` is the sum of all terms,
  // `distance_bias` and `forgetting`.
  std::vector<double> terms = {};
  double total = 0;
};

// Tolerance for rounding errors. It limits the difference between the sum of
// the terms and the score, relative to the sum of the terms' magnitudes.
inline constexpr double kExplanationTolerance = 1e-6;

// Runs a pass for each source and for each head. Returns InvalidArgument in
// these cases:
// * an option is invalid;
// * the key is masked for the query;
// * no source reaches the query or the key;
// * the sum of the terms differs from the score, because the score is not
//   linear in the query and in the key.
template <typename T>
absl::StatusOr<ScoreExplanation> Explain(Forward<T>& forward,
                                         const TraceablePrediction<T>& traced,
                                         const ExplainOptions& options);

}  // namespace regard

#endif  // ATTENTION_INSPECTION_EXPLANATION_H_
