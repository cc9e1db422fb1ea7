#include "autodiff/fault_finder.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "autodiff/instantiate.h"

namespace regard {

template <typename T>
FaultFinder<T>::FaultFinder(Tape<T>& tape)
    : tape_(tape), outer_(tape.observer()) {
  tape_.set_observer(this);
}

template <typename T>
FaultFinder<T>::~FaultFinder() {
  tape_.set_observer(outer_);
}

template <typename T>
void FaultFinder<T>::OnForward(const char* name, const ScopeName* scope,
                               absl::Span<const Var<T>> outs) {
  for (const Var<T>& out : outs) {
    Check(*out.node(), /*gradient=*/false, name, scope);
  }
}

template <typename T>
void FaultFinder<T>::OnBackwardStart(const ScopeName* scope) {
  OnBackward("the start of Backward()", scope);
}

template <typename T>
void FaultFinder<T>::OnBackward(const char* name, const ScopeName* scope) {
  for (const Node<T>* node : contributions_) {
    Check(*node, /*gradient=*/true, name, scope);
  }
  contributions_.clear();
}

template <typename T>
void FaultFinder<T>::OnContribution(const Node<T>& node) {
  contributions_.push_back(&node);
}

template <typename T>
void FaultFinder<T>::OnEndScores(Var<T> scores) {
  in_scores_ = false;
  const absl::Span<const T> values = scores.span();
  if (fault_.empty() &&
      std::find(values.begin(), values.end(), T(INFINITY)) != values.end()) {
    fault_ = infinity_in_scores_;
  }
  infinity_in_scores_.clear();
}

template <typename T>
void FaultFinder<T>::Check(const Node<T>& node, bool gradient, const char* name,
                           const ScopeName* scope) {
  if (!fault_.empty()) return;
  const T* const values = gradient ? node.grad : node.value;
  int64_t nans = 0;
  int64_t infinities = 0;
  for (int64_t i = 0; i < node.size; ++i) {
    nans += std::isnan(values[i]);
    infinities += std::isinf(values[i]);
  }
  if (nans + infinities == 0) return;
  const bool waits = in_scores_ && !gradient && nans == 0;
  std::string& fault = waits ? infinity_in_scores_ : fault_;
  if (!fault.empty()) return;
  fault = absl::StrCat(nans > 0 ? "NaN" : "Inf", " in ",
                       gradient ? "a gradient made by " : "the value of ", name,
                       " (", nans, " NaN and ", infinities, " Inf among ",
                       node.size, " elements)");
  if (scope != nullptr) absl::StrAppend(&fault, " at ", scope->ToString());
}

REGARD_INSTANTIATE_CLASS(FaultFinder);

}  // namespace regard
