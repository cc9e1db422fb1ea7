// The additive score, w_v . tanh(W_q q + W_k k [+ b]). Bahdanau et al., "Neural
// machine translation by jointly learning to align and translate", 2015.
#include "attention/additive_layer.h"
#include "attention/scoring/additive.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
class Additive : public AdditiveLayer<T> {
 public:
  using Options = AdditiveScore;
  using AdditiveLayer<T>::AdditiveLayer;
};

REGARD_SCORING_FUNCTION(Additive, "w_v . tanh(W_q q + W_k k)")

}  // namespace regard
