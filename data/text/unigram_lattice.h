// A lattice of pieces, whose paths are all segmentations of a text by a unigram
// model. The score of a path is the sum of the scores of its pieces. It is the
// log-probability of the segmentation.
//
// Kudo, "Subword regularization: improving neural network translation models
// with multiple subword candidates", ACL 2018, section 3.
#ifndef DATA_TEXT_UNIGRAM_LATTICE_H_
#define DATA_TEXT_UNIGRAM_LATTICE_H_

#include <cstdint>
#include <vector>

#include "autodiff/random.h"

namespace regard {

// The bytes at which the pieces of a segmentation end, in order.
using PieceEnds = std::vector<int64_t>;

class UnigramLattice {
 public:
  // `bytes` is the number of bytes of the text, at least 1.
  explicit UnigramLattice(int64_t bytes);

  // Adds the piece of bytes [begin, end). Calls must be in ascending order of
  // `begin`. Every byte at which a piece ends must be the end of the text, or
  // the beginning of another piece.
  void Add(int64_t begin, int64_t end, double score);

  // Draws a path with a probability proportional to exp(alpha * score), by
  // forward filtering and backward sampling. Takes one random number from
  // `random` for each piece.
  PieceEnds Sample(double alpha, const RandomStream& random) const;

  // Draws one of the `n` paths of NBest(), with a probability proportional to
  // exp(alpha * score).
  PieceEnds SampleNBest(int n, double alpha, const RandomStream& random) const;

  struct Path {
    PieceEnds ends;
    double score;
  };
  // Returns the n paths with the highest scores, or all if there are fewer,
  // best first. Takes time and memory proportional to n.
  std::vector<Path> NBest(int n) const;

 private:
  struct Arc {
    int64_t begin;
    double score;
    int64_t before;  // index of the previous arc with the same end, or -1
  };

  const int64_t bytes_;
  std::vector<Arc> arcs_;
  std::vector<int64_t> last_;  // [bytes + 1], index of the last arc
};

}  // namespace regard

#endif  // DATA_TEXT_UNIGRAM_LATTICE_H_
