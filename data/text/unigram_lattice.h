// All segmentations of a text by a unigram model, as paths through a lattice of
// pieces. The score of a path, the log-probability of the segmentation, is the
// sum of the scores of its pieces.
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
  // The text has `bytes` bytes, at least 1.
  explicit UnigramLattice(int64_t bytes);

  // Adds the piece of bytes [begin, end). Calls come with rising `begin`; every
  // byte at which a piece ends is the end of the text or begins another.
  void Add(int64_t begin, int64_t end, double score);

  // Draws a path with a probability proportional to exp(alpha score): forward
  // filtering and backward sampling. `random` gives one number a piece.
  PieceEnds Sample(double alpha, const RandomStream& random) const;

  // The same among the `n` paths of NBest().
  PieceEnds SampleNBest(int n, double alpha, const RandomStream& random) const;

  struct Path {
    PieceEnds ends;
    double score;
  };
  // The n paths of the highest scores, or as many as there are, best first.
  // Takes time and memory in proportion to n.
  std::vector<Path> NBest(int n) const;

 private:
  struct Arc {
    int64_t begin;
    double score;
    int64_t before;  // index of the arc before with the same end; -1: none
  };

  const int64_t bytes_;
  std::vector<Arc> arcs_;
  std::vector<int64_t> last_;  // [bytes + 1], of the arcs that end there
};

}  // namespace regard

#endif  // DATA_TEXT_UNIGRAM_LATTICE_H_
