#include "nn/ranks/agreement.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

bool Alone(const Ranks* ranks) {
  return ranks == nullptr || ranks->size() == 1;
}

void AppendSized(absl::string_view text, std::string* bytes) {
  const uint64_t size = text.size();
  bytes->append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes->append(text.data(), text.size());
}

std::string TakeSized(absl::string_view* bytes) {
  uint64_t size = 0;
  REGARD_CHECK_GE(bytes->size(), sizeof size);
  std::copy_n(bytes->data(), sizeof size, reinterpret_cast<char*>(&size));
  bytes->remove_prefix(sizeof size);
  REGARD_CHECK_GE(bytes->size(), size);
  std::string text(bytes->substr(0, size));
  bytes->remove_prefix(size);
  return text;
}

std::string FactsText(const std::map<std::string, std::string>& facts) {
  std::string bytes;
  for (const auto& [name, value] : facts) {
    AppendSized(name, &bytes);
    AppendSized(value, &bytes);
  }
  return bytes;
}

std::map<std::string, std::string> ParseFacts(absl::string_view bytes) {
  std::map<std::string, std::string> facts;
  while (!bytes.empty()) {
    std::string name = TakeSized(&bytes);
    facts[std::move(name)] = TakeSized(&bytes);
  }
  return facts;
}

// The value, or that there is none.
std::string ValueIn(const std::map<std::string, std::string>& facts,
                    const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() ? "nothing" : found->second;
}

}  // namespace

absl::Status AgreeOn(Ranks* ranks, const absl::Status& status) {
  if (Alone(ranks)) return status;
  const std::vector<int> codes =
      GatherValues<int>(*ranks, static_cast<int>(status.code()));
  const auto failed = std::find_if(codes.begin(), codes.end(),
                                   [](int code) { return code != 0; });
  if (failed == codes.end()) return absl::OkStatus();
  const std::vector<std::string> messages =
      GatherTexts(*ranks, status.message());
  const auto rank = static_cast<size_t>(failed - codes.begin());
  return absl::Status(
      static_cast<absl::StatusCode>(*failed),
      absl::StrCat(rank == 0 ? "" : absl::StrCat("rank ", rank, ": "),
                   messages[rank]));
}

std::string FromFirstRank(Ranks* ranks, absl::string_view text) {
  if (Alone(ranks)) return std::string(text);
  return GatherTexts(*ranks, ranks->rank() == 0 ? text : "")[0];
}

bool FirstRankSays(Ranks* ranks, bool value) {
  if (Alone(ranks)) return value;
  return LargestOf(ranks, ranks->rank() == 0 && value ? 1 : 0) != 0;
}

int LargestOf(Ranks* ranks, int value) {
  if (Alone(ranks)) return value;
  for (int bit = 1; bit < ranks->size(); bit *= 2) {
    int other = 0;
    ranks->Exchange(
        ranks->rank() ^ bit,
        {reinterpret_cast<const uint8_t*>(&value), sizeof value},
        absl::MakeSpan(reinterpret_cast<uint8_t*>(&other), sizeof other));
    value = std::max(value, other);
  }
  return value;
}

absl::Status CheckSameOnRanks(Ranks* ranks,
                              const std::map<std::string, std::string>& facts,
                              absl::StatusCode code) {
  if (Alone(ranks)) return absl::OkStatus();
  const std::vector<std::string> texts = GatherTexts(*ranks, FactsText(facts));
  const std::map<std::string, std::string> first = ParseFacts(texts[0]);
  std::string differences;
  for (size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] == texts[0]) continue;
    const std::map<std::string, std::string> other = ParseFacts(texts[rank]);
    std::map<std::string, std::string> all = first;
    all.insert(other.begin(), other.end());
    for (const auto& [name, unused] : all) {
      const std::string wanted = ValueIn(first, name);
      const std::string got = ValueIn(other, name);
      if (got == wanted) continue;
      absl::StrAppend(&differences, "\n  ", name, ": ", got, " on rank ", rank,
                      ", ", wanted, " on rank 0");
    }
  }
  if (differences.empty()) return absl::OkStatus();
  return absl::Status(code,
                      absl::StrCat("error: the ranks differ:", differences));
}

}  // namespace regard
