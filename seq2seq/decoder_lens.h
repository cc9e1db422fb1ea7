// The logit lens of a decoder: the predictions after each layer, as if this
// layer were the last layer.
#ifndef SEQ2SEQ_DECODER_LENS_H_
#define SEQ2SEQ_DECODER_LENS_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attention/inspection/trace.h"
#include "autodiff/ops/softmax.h"
#include "nn/forward.h"
#include "seq2seq/decoder.h"

namespace regard {

// Returns the lens for all positions of one row of ids. `rows` are the labels
// of the positions, and `name` turns an id into text. The lens is empty if the
// decoder has no hook points for residual streams. `decoder` must outlive the
// lens.
template <typename T>
LogitLensSpec<T> MakeLogitLens(const Decoder<T>& decoder,
                               std::vector<std::string> rows,
                               std::function<std::string(size_t)> name) {
  if (*decoder.residual_sites() == '\0') return {};
  return {.sites = decoder.residual_sites(),
          .rows = std::move(rows),
          .log_probabilities =
              [&decoder](Forward<T>& forward, Var<T> residual) {
                return LogSoftmax(decoder.head().Logits(
                    forward, decoder.Finish(forward, residual)));
              },
          .name = std::move(name)};
}

}  // namespace regard

#endif  // SEQ2SEQ_DECODER_LENS_H_
