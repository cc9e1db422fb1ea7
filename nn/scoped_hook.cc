#include "nn/scoped_hook.h"

#include <utility>

#include "autodiff/instantiate.h"

namespace regard {

template <typename T>
ScopedProbe<T>::ScopedProbe(Forward<T>& forward, Probe<T>* probe)
    : forward_(forward), outer_(forward.probe()), inner_(probe) {
  forward.set_probe(outer_ == nullptr ? inner_ : this);
}

template <typename T>
SiteWish ScopedProbe<T>::Wish(const std::string& site) {
  SiteWish a = outer_->Wish(site);
  const SiteWish b = inner_->Wish(site);
  a.rows.Add(b.rows);
  return {.value = a.value || b.value,
          .gradient = a.gradient || b.gradient,
          .replacement = a.replacement || b.replacement,
          .input = a.input || b.input,
          .rows = std::move(a.rows)};
}

template <typename T>
void ScopedProbe<T>::OnValue(const std::string& site, Var<T> value) {
  for (Probe<T>* const probe : {outer_, inner_}) {
    if (probe->Wish(site).value) probe->OnValue(site, value);
  }
}

template <typename T>
void ScopedProbe<T>::OnGradient(const std::string& site, Var<T> value) {
  for (Probe<T>* const probe : {outer_, inner_}) {
    if (probe->Wish(site).gradient) probe->OnGradient(site, value);
  }
}

template <typename T>
void ScopedProbe<T>::OnRows(const std::string& site,
                            const RowStatistics& rows) {
  for (Probe<T>* const probe : {outer_, inner_}) {
    if (probe->Wish(site).rows.any()) probe->OnRows(site, rows);
  }
}

template <typename T>
Var<T> ScopedProbe<T>::Replace(Tape<T>& tape, const std::string& site,
                               Var<T> value) {
  const SiteWish after = inner_->Wish(site);
  // If the inner probe reads the input instead of the value, the outer probe's
  // replacement has no effect.
  if (!after.input && outer_->Wish(site).replacement) {
    value = outer_->Replace(tape, site, value);
  }
  return after.replacement ? inner_->Replace(tape, site, value) : value;
}

REGARD_INSTANTIATE_CLASS(ScopedProbe);

}  // namespace regard
