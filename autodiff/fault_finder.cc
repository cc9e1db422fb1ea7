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
void FaultFinder<T>::OnForwardDone(const char* name, const ScopeName* scope,
                                   absl::Span<const Var<T>> outs) {
  for (const Var<T>& out : outs) {
    RecordFaultIfNotFinite(*out.node(), /*gradient=*/false, name, scope);
  }
}

template <typename T>
void FaultFinder<T>::OnBeginBackwardPass(const ScopeName* scope) {
  OnBackwardDone("the start of Backward()", scope);
}

template <typename T>
void FaultFinder<T>::OnBackwardDone(const char* name, const ScopeName* scope) {
  for (const Node<T>* node : contributions_) {
    RecordFaultIfNotFinite(*node, /*gradient=*/true, name, scope);
  }
  contributions_.clear();
}

template <typename T>
void FaultFinder<T>::OnBeginContribution(const Node<T>& node) {
  contributions_.push_back(&node);
}

template <typename T>
void FaultFinder<T>::OnEndScores(Var<T> scores) {
  in_scores_ = false;
  const absl::Span<const T> values = scores.span();
  if (std::any_of(values.begin(), values.end(),
                  [](T x) { return std::isnan(x); })) {
    if (fault_.empty()) fault_ = nan_in_scores_;
  }
  if (std::find(values.begin(), values.end(), T(INFINITY)) != values.end()) {
    if (fault_.empty()) fault_ = infinity_in_scores_;
  }
  nan_in_scores_.clear();
  infinity_in_scores_.clear();
}

template <typename T>
void FaultFinder<T>::RecordFaultIfNotFinite(const Node<T>& node, bool gradient,
                                            const char* name,
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
  const bool waits = in_scores_ && !gradient;
  std::string& fault = !waits     ? fault_
                       : nans > 0 ? nan_in_scores_
                                  : infinity_in_scores_;
  if (!fault.empty()) return;
  fault = absl::StrCat(nans > 0 ? "NaN" : "Inf", " in ",
                       gradient ? "a gradient made by " : "the value of ", name,
                       " (", nans, " NaN and ", infinities, " Inf among ",
                       node.size, " elements)");
  if (scope != nullptr) absl::StrAppend(&fault, " at ", scope->ToString());
}

REGARD_INSTANTIATE_CLASS(FaultFinder);

}  // namespace regard
