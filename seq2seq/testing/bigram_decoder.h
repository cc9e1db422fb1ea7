// A bigram table as a decoder, without a network, memory or attention, for
// tests.
#ifndef SEQ2SEQ_TESTING_BIGRAM_DECODER_H_
#define SEQ2SEQ_TESTING_BIGRAM_DECODER_H_

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "seq2seq/decoder.h"

namespace regard {

class BigramDecoder : public Decoder<float>, public OutputHead<float> {
 public:
  // p[i][j] is the probability of id j after id i.
  explicit BigramDecoder(std::vector<std::vector<double>> p)
      : p_(std::move(p)) {}

  DecoderState<float> Begin(Forward<float>& forward,
                            const Memory<float>& memory) const override {
    return {forward.tape(), memory.sources, memory.lengths, /*num_slots=*/0};
  }
  // The readout of a position is its id.
  Var<float> Advance(Forward<float>& forward, absl::Span<const int32_t> ids,
                     absl::Span<const int32_t> /*lengths*/,
                     DecoderState<float>* state) const override {
    const auto n = static_cast<int64_t>(ids.size()) / state->rows();
    const Var<float> readout = forward.tape().Constant({state->rows(), n, 1});
    for (size_t i = 0; i < ids.size(); ++i) {
      readout.data()[i] = static_cast<float>(ids[i]);
    }
    state->AdvancePosition(n);
    return readout;
  }
  const OutputHead<float>& head() const override { return *this; }

  int64_t vocabulary() const override {
    return static_cast<int64_t>(p_.size());
  }

 protected:
  Var<float> LogitsOf(Forward<float>& forward,
                      Var<float> readout) const override {
    const Var<float> out =
        forward.tape().Constant(readout.shape().With(-1, vocabulary()));
    float* to = out.data();
    for (const float id : readout.span()) {
      for (const double p : p_[static_cast<size_t>(id)]) {
        *to++ = static_cast<float>(std::log(p));
      }
    }
    return out;
  }

 private:
  std::vector<std::vector<double>> p_;
};

}  // namespace regard

#endif  // SEQ2SEQ_TESTING_BIGRAM_DECODER_H_
