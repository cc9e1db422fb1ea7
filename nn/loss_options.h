// How the loss of a model is made from its sum over a batch.
#ifndef NN_LOSS_OPTIONS_H_
#define NN_LOSS_OPTIONS_H_

#include <cstdint>

namespace regard {

struct LossOptions {
  // What the sum is divided by.
  enum class Normalizer { kPerToken, kPerSequence, kSum };
  Normalizer normalizer = Normalizer::kPerToken;
  double scale = 1;
  double label_smoothing = 0;

  // Of a batch with so many tokens to predict in so many sequences; both are
  // the number of examples where an example is one thing to predict.
  double Denominator(int64_t tokens, int64_t sequences) const {
    switch (normalizer) {
      case Normalizer::kPerToken:
        return static_cast<double>(tokens);
      case Normalizer::kPerSequence:
        return static_cast<double>(sequences);
      case Normalizer::kSum:
        break;
    }
    return 1;
  }
};

}  // namespace regard

#endif  // NN_LOSS_OPTIONS_H_
