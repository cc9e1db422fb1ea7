#include "attention/inspection/attention_maps.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "autodiff/instantiate.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

constexpr absl::string_view kLayer = "/layers[";

// Returns the map of hook point `site`, with an empty shape and empty arrays.
// `value` is the last part of the name, such as "weights".
template <typename T>
AttentionMap<T> Describe(absl::string_view site, absl::string_view value) {
  AttentionMap<T> map;
  map.site = AllStepsPattern(site);
  const std::string end = absl::StrCat("/attention/", value);
  absl::ConsumeSuffix(&site, end);
  const size_t at = site.find(kLayer);
  if (at == absl::string_view::npos) {
    map.name = absl::EndsWith(site, "decoder") || absl::EndsWith(site, value)
                   ? "attention"
                   : map.site.substr(0, map.site.size() - end.size());
    map.over_memory = true;
    return map;
  }
  absl::string_view model = site.substr(0, at);
  map.stack = std::string(model);
  if (const size_t slash = model.rfind('/'); slash != model.npos) {
    model.remove_prefix(slash + 1);
  }
  absl::string_view layer = site.substr(at + kLayer.size());
  const absl::string_view branch = layer.substr(layer.find(']') + 2);
  layer = layer.substr(0, layer.find(']'));
  REGARD_CHECK(absl::SimpleAtoi(layer, &map.layer)) << site;
  map.name = absl::StrCat(model, ".", layer, ".", branch);
  map.over_memory = branch == "cross";
  return map;
}

// Copies the array `numbers` of shape `shape` into the array `to` of shape
// `whole`. Query 0 of `numbers` becomes query `first` of `to`.
template <typename T>
void Place(const std::vector<T>& numbers, const Shape& shape, int64_t first,
           const Shape& whole, std::vector<T>* to) {
  if (numbers.empty()) return;
  to->resize(static_cast<size_t>(whole.size()));
  const int64_t size = shape[2] * shape[3];
  for (int64_t row = 0; row < shape[0] * shape[1]; ++row) {
    std::copy_n(numbers.data() + row * size, size,
                to->data() + (row * whole[2] + first) * whole[3]);
  }
}

}  // namespace

std::string AllLayersPattern(absl::string_view site) {
  const size_t at = site.find(kLayer);
  if (at == absl::string_view::npos) return std::string(site);
  const size_t number = at + kLayer.size();
  return absl::StrCat(site.substr(0, number), "*",
                      site.substr(site.find(']', number)));
}

template <typename T>
std::vector<AttentionMap<T>> AttentionMaps(const SiteValueRecorder<T>& recorder,
                                           absl::string_view value) {
  using Seen = typename SiteValueRecorder<T>::Seen;
  const std::string end = absl::StrCat("attention/", value);
  std::vector<AttentionMap<T>> maps;
  std::vector<std::vector<const Seen*>> parts;
  for (const Seen& seen : recorder.seen()) {
    if (!absl::EndsWith(seen.site, end)) continue;
    AttentionMap<T> map = Describe<T>(seen.site, value);
    size_t i = 0;
    while (i < maps.size() && maps[i].site != map.site) ++i;
    if (i == maps.size()) {
      maps.push_back(map);
      parts.emplace_back();
      maps[i].shape = seen.shape.With(2, 0);
    }
    Shape& shape = maps[i].shape;
    shape = shape.With(2, shape[2] + seen.shape[2]);
    parts[i].push_back(&seen);
  }
  for (size_t i = 0; i < maps.size(); ++i) {
    int64_t first = 0;
    for (const Seen* const part : parts[i]) {
      const Shape& whole = maps[i].shape;
      Place(part->value, part->shape, first, whole, &maps[i].weights);
      Place(part->gradient, part->shape, first, whole, &maps[i].gradients);
      first += part->shape[2];
    }
  }
  return maps;
}

template <typename T>
void CopyHead(const Shape& shape, const T* from, int64_t head, T* to) {
  const int64_t heads = shape[1];
  REGARD_CHECK(head < heads) << "no head " << head << " of " << heads;
  const int64_t size = shape[2] * shape[3];
  for (int64_t source = 0; source < shape[0]; ++source) {
    std::copy_n(from + std::max<int64_t>(head, 0) * size, size, to);
    if (head < 0 && heads > 1) {
      for (int64_t h = 1; h < heads; ++h) {
        for (int64_t j = 0; j < size; ++j) to[j] += from[h * size + j];
      }
      for (int64_t j = 0; j < size; ++j) to[j] /= static_cast<T>(heads);
    }
    from += heads * size;
    to += size;
  }
}

REGARD_INSTANTIATE_FUNCTION(AttentionMaps);
REGARD_INSTANTIATE_FUNCTION(CopyHead);

}  // namespace regard
