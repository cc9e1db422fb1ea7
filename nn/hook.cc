#include "nn/hook.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autodiff/instantiate.h"

namespace regard {

// Each star except the last matches as few characters as possible. If the
// pattern matches at all, it also matches in this way.
bool MatchesSite(absl::string_view pattern, absl::string_view site) {
  // Most names that do not match the pattern differ from it near their end.
  while (!pattern.empty() && pattern.back() != '*') {
    if (site.empty() || site.back() != pattern.back()) return false;
    pattern.remove_suffix(1);
    site.remove_suffix(1);
  }
  size_t p = 0;
  size_t s = 0;
  size_t after_star = absl::string_view::npos;
  size_t star_ends = 0;
  while (s < site.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      star_ends = s;
    } else if (p < pattern.size() && pattern[p] == site[s]) {
      ++p;
      ++s;
    } else if (after_star != absl::string_view::npos) {
      p = after_star;
      s = ++star_ends;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool MatchesSite(absl::Span<const std::string> patterns,
                 absl::string_view site) {
  return std::any_of(
      patterns.begin(), patterns.end(),
      [&](const std::string& pattern) { return MatchesSite(pattern, site); });
}

std::string AllStepsPattern(absl::string_view site) {
  constexpr absl::string_view kStep = "step[";
  const size_t step = absl::StartsWith(site, kStep) ? 0 : site.find("/step[");
  if (step == site.npos) return std::string(site);
  const size_t index = site.find('[', step) + 1;
  return absl::StrCat(site.substr(0, index), "*",
                      site.substr(site.find(']', index)));
}

template <typename T>
SiteValueRecorder<T>::SiteValueRecorder(std::vector<std::string> values,
                                        std::vector<std::string> gradients)
    : values_(std::move(values)), gradients_(std::move(gradients)) {}

template <typename T>
HookRequest SiteValueRecorder<T>::Request(const std::string& site) {
  return {.value = MatchesSite(values_, site),
          .gradient = MatchesSite(gradients_, site)};
}

template <typename T>
void SiteValueRecorder<T>::OnValue(const std::string& site, Var<T> value) {
  seen_.push_back(
      {site, value.shape(), {value.data(), value.data() + value.size()}, {}});
}

template <typename T>
void SiteValueRecorder<T>::OnGradient(const std::string& site, Var<T> value) {
  std::vector<T> gradient(value.grad_data(), value.grad_data() + value.size());
  for (auto seen = seen_.rbegin(); seen != seen_.rend(); ++seen) {
    if (seen->site == site && seen->gradient.empty()) {
      seen->gradient = std::move(gradient);
      return;
    }
  }
  seen_.push_back({site, value.shape(), {}, std::move(gradient)});
}

template <typename T>
auto SiteValueRecorder<T>::Find(absl::string_view site) const -> const Seen* {
  const auto found =
      std::find_if(seen_.rbegin(), seen_.rend(),
                   [&](const Seen& seen) { return seen.site == site; });
  return found == seen_.rend() ? nullptr : &*found;
}

REGARD_INSTANTIATE_CLASS(SiteValueRecorder);

}  // namespace regard
