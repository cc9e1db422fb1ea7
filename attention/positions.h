// Positions of the queries and keys of one attention call in their sequences.
// Scores, position encodings and masks read the same positions.
#ifndef ATTENTION_POSITIONS_H_
#define ATTENTION_POSITIONS_H_

#include <cstdint>
#include <limits>

namespace regard {

// A length, distance or number of positions without a limit.
inline constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// The maximum number of successive positions whose distances are at most
// `distance`.
inline int64_t PositionsWithin(int64_t distance) {
  return distance == kUnlimited ? kUnlimited : distance + 1;
}

// Query row i is at position first_query + i * query_step. Key row j is at
// position first_key + j.
struct Positions {
  int64_t first_query = 0;
  // If 1, the query rows are successive positions, as in a Transformer layer.
  // If 0, the query rows are alternatives at one position, like the beams of a
  // search.
  int64_t query_step = 1;
  int64_t first_key = 0;

  // The position of query row `query` minus the position of key row 0. The
  // query is Offset(query) - j positions after key row j.
  int64_t Offset(int64_t query) const {
    return first_query + query * query_step - first_key;
  }
};

}  // namespace regard

#endif  // ATTENTION_POSITIONS_H_
