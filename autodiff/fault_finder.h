// Finds the operation that first produced a NaN or an infinity.
#ifndef AUTODIFF_FAULT_FINDER_H_
#define AUTODIFF_FAULT_FINDER_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/node.h"
#include "autodiff/tape.h"
#include "autodiff/tape_observer.h"
#include "autodiff/var.h"

namespace regard {

// Searches for NaN and infinities in the values that operations return, and in
// the gradients that their backward closures contribute to.
//
// Scores may contain -inf. Operations that compute scores may also discard a
// NaN, for example in the branch that a Where() does not take. Between
// Tape::NotifyBeginScores() and NotifyEndScores(), a NaN is therefore a fault
// only if the final scores contain a NaN. An infinity is a fault only if the
// final scores contain +inf.
template <typename T>
class FaultFinder : public TapeObserver<T> {
 public:
  // Observes `tape` for the lifetime of this object. Replaces the previous
  // observer.
  explicit FaultFinder(Tape<T>& tape);
  ~FaultFinder() override;
  FaultFinder(const FaultFinder&) = delete;
  FaultFinder& operator=(const FaultFinder&) = delete;

  // The first fault, such as "NaN in the value of MatMul (1 NaN and 0 Inf among
  // 6 elements) at decoder/attention", or "" if no fault was found.
  const std::string& fault() const { return fault_; }
  void clear_fault() { fault_.clear(); }

  void OnReset() override { contributions_.clear(); }
  void OnForwardDone(const char* name, const ScopeName* scope,
                     absl::Span<const Var<T>> outs) override;
  void OnBeginBackwardPass(const ScopeName* scope) override;
  void OnBackwardDone(const char* name, const ScopeName* scope) override;
  void OnBeginContribution(const Node<T>& node) override;
  void OnBeginScores() override { in_scores_ = true; }
  void OnEndScores(Var<T> scores) override;

 private:
  void RecordFaultIfNotFinite(const Node<T>& node, bool gradient,
                              const char* name, const ScopeName* scope);

  Tape<T>& tape_;
  TapeObserver<T>* const outer_;
  std::string fault_;
  bool in_scores_ = false;
  std::string nan_in_scores_;  // the first NaN, formatted like fault_
  std::string infinity_in_scores_;
  std::vector<const Node<T>*> contributions_;  // to be searched
};

extern template class FaultFinder<float>;
extern template class FaultFinder<double>;

}  // namespace regard

#endif  // AUTODIFF_FAULT_FINDER_H_
