// What a layer needs to compute: the tape, and the parameters as Vars of it.
//
//   forward.BeginStep();
//   Var<T> loss = ...;                 // layers ask for forward[weight_]
//   forward.Backward({loss}, {1.0});   // now `gradients` is complete
#ifndef NN_FORWARD_H_
#define NN_FORWARD_H_

#include <vector>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "nn/parameters.h"

namespace regard {

template <typename T>
class Forward {
 public:
  // Without `gradients` (inference) parameters are constants, and nothing is
  // recorded for their sake. All three outlive this.
  Forward(Tape<T>& tape, const ParameterStore<T>& parameters,
          GradientSlab<T>* gradients);

  // Over parameters that are values of the tape already, in the store's order
  // and shapes; for checks of gradients. There is no BeginStep().
  Forward(Tape<T>& tape, const ParameterStore<T>& parameters,
          absl::Span<const Var<T>> leaves);

  Forward(const Forward&) = delete;
  Forward& operator=(const Forward&) = delete;

  // From the next BeginStep() on; null: as in the constructor.
  void set_gradients(GradientSlab<T>* gradients) { gradients_ = gradients; }

  // Resets the tape and makes each parameter's one leaf, see Tape::Leaf().
  void BeginStep();

  // The parameter's leaf of this step; never written to.
  Var<T> operator[](Parameter<T> parameter) const;

  // Runs the tape backwards from scalars[i] with gradient seeds[i], then
  // completes the gradient slab: what was not reached is zero. A scalar that
  // needs no gradient is passed over.
  void Backward(absl::Span<const Var<T>> scalars,
                absl::Span<const double> seeds);

  Tape<T>& tape() const { return tape_; }
  const ParameterStore<T>& parameters() const { return parameters_; }

 private:
  Tape<T>& tape_;
  const ParameterStore<T>& parameters_;
  GradientSlab<T>* gradients_;
  std::vector<Var<T>> leaves_;
};

}  // namespace regard

#endif  // NN_FORWARD_H_
