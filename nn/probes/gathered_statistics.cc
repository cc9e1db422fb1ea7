#include "nn/probes/gathered_statistics.h"

#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// What follows a name in the bytes that ranks exchange.
static_assert(std::is_trivially_copyable_v<StatisticSum>);

template <typename T>
void AppendBytes(const T& value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
T TakeBytes(absl::string_view* bytes) {
  T value;
  REGARD_CHECK_GE(bytes->size(), sizeof value);
  std::memcpy(&value, bytes->data(), sizeof value);
  bytes->remove_prefix(sizeof value);
  return value;
}

}  // namespace

void TakeStatistics(
    absl::Span<const std::unique_ptr<ConfiguredProbe<float>>> probes,
    Ranks& ranks, StatisticSums* sums) {
  std::string own;
  for (const auto& probe : probes) {
    StatisticSums of_shard;
    probe->TakeStatistics(&of_shard);
    for (const auto& [name, sum] : of_shard) {
      AppendBytes(name.size(), &own);
      own += name;
      AppendBytes(sum, &own);
    }
  }
  // A rank has consecutive shards.
  for (const std::string& text : GatherTexts(ranks, own)) {
    for (absl::string_view bytes = text; !bytes.empty();) {
      const auto size = TakeBytes<size_t>(&bytes);
      REGARD_CHECK_GE(bytes.size(), size);
      const std::string name(bytes.substr(0, size));
      bytes.remove_prefix(size);
      (*sums)[name].Add(TakeBytes<StatisticSum>(&bytes));
    }
  }
}

}  // namespace regard
