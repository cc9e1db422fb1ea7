#include "nn/scoped_hook.h"

#include <utility>

#include "autodiff/instantiate.h"

namespace regard {

template <typename T>
ScopedExtraHook<T>::ScopedExtraHook(Forward<T>& forward, Hook<T>* hook)
    : forward_(forward), outer_(forward.hook()), inner_(hook) {
  forward.set_hook(outer_ == nullptr ? inner_ : this);
}

template <typename T>
HookRequest ScopedExtraHook<T>::Request(const std::string& site) {
  HookRequest a = outer_->Request(site);
  const HookRequest b = inner_->Request(site);
  a.rows.Add(b.rows);
  return {.value = a.value || b.value,
          .gradient = a.gradient || b.gradient,
          .replacement = a.replacement || b.replacement,
          .input = a.input || b.input,
          .rows = std::move(a.rows)};
}

template <typename T>
void ScopedExtraHook<T>::OnValue(const std::string& site, Var<T> value) {
  for (Hook<T>* const hook : {outer_, inner_}) {
    if (hook->Request(site).value) hook->OnValue(site, value);
  }
}

template <typename T>
void ScopedExtraHook<T>::OnGradient(const std::string& site, Var<T> value) {
  for (Hook<T>* const hook : {outer_, inner_}) {
    if (hook->Request(site).gradient) hook->OnGradient(site, value);
  }
}

template <typename T>
void ScopedExtraHook<T>::OnRowStatistics(const std::string& site,
                                         const AttentionStatistics& rows) {
  for (Hook<T>* const hook : {outer_, inner_}) {
    if (hook->Request(site).rows.any()) hook->OnRowStatistics(site, rows);
  }
}

template <typename T>
Var<T> ScopedExtraHook<T>::Replace(Tape<T>& tape, const std::string& site,
                                   Var<T> value) {
  const HookRequest after = inner_->Request(site);
  // If the inner hook reads the input instead of the value, the outer hook's
  // replacement has no effect.
  if (!after.input && outer_->Request(site).replacement) {
    value = outer_->Replace(tape, site, value);
  }
  return after.replacement ? inner_->Replace(tape, site, value) : value;
}

REGARD_INSTANTIATE_CLASS(ScopedExtraHook);

}  // namespace regard
