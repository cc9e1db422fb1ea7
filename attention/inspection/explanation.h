// Why a head attends: the score of a query and a key as a sum over pairs of
// sources in the residual stream, one that the query reads and one that the key
// reads (Elhage et al., "A mathematical framework for transformer circuits",
// 2021).
//
// residual_sources.h says which sources there are. All that does not depend on
// the input, such as biases of projections, is one more. The sum of all terms
// is the score that attention has computed. Only hook points are read and held,
// so that no model is known here.
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
  // A pattern of one attention, by its scope or its `weights` or `scores`:
  // "decoder/layers[1]/self/attention/weights".
  std::string site = {};
  // From 0; -1: the only head, the last query, the key with the largest weight.
  int64_t head = -1;
  int64_t query = -1;
  int64_t key = -1;
};

struct ScoreSource {
  // Absent: all that does not depend on the input, such as biases of
  // projections, and rounding.
  std::optional<ResidualSource> source = {};
  // Sums of the terms in which the query, or the key, reads the source.
  double as_query = 0;
  double as_key = 0;

  // As ResidualSource::Name(), or "biases".
  std::string Name() const;
};

struct ScoreExplanation {
  std::string site = {};  // ends with "weights"
  int64_t head = 0;
  int64_t query = 0;
  int64_t key = 0;
  std::string query_label = {};  // what the position reads
  std::string key_label = {};
  double weight = 0;
  // Input of the normalizer: the score, and biases of the layer.
  double score = 0;
  // Biases that the layer adds to the score, by the distance (ALiBi, relative
  // buckets) and by the forgetting gate; 0 without them.
  double distance_bias = 0;
  double forgetting = 0;
  // Sources that reach the query or the key, in the order of the pass, and
  // last the one that does not depend on the input.
  std::vector<ScoreSource> sources = {};
  // [sources, sources]: row a, column b is the term of source a of the query
  // and source b of the key. Their sum and the two biases are `total`.
  std::vector<double> terms = {};
  double total = 0;
};

// The most that the terms' sum may differ from the score, which is left to
// rounding, as a fraction of the sum of the terms' magnitudes.
inline constexpr double kExplanationTolerance = 1e-6;

// Takes a pass for each source, and one for each head of an attention.
// InvalidArgument if an option is wrong, if the query does not see the key, if
// no source reaches the query or the key, and if the sum of the terms is not
// the score: then the score is not linear in the query and in the key.
template <typename T>
absl::StatusOr<ScoreExplanation> Explain(Forward<T>& forward,
                                         const Traced<T>& traced,
                                         const ExplainOptions& options);

}  // namespace regard

#endif  // ATTENTION_INSPECTION_EXPLANATION_H_
