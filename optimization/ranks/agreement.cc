#include "optimization/ranks/agreement.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "optimization/ranks/value_bytes.h"

namespace regard {

namespace {

bool Alone(const Ranks* ranks) {
  return ranks == nullptr || ranks->size() == 1;
}

using Facts = std::map<std::string, std::string>;
using FactList = std::vector<std::pair<std::string, std::string>>;

std::string FactsText(const Facts& facts) {
  std::string bytes;
  AppendBytes(FactList(facts.begin(), facts.end()), &bytes);
  return bytes;
}

Facts ParseFacts(absl::string_view bytes) {
  FactList facts;
  TakeBytes(&bytes, &facts);
  return Facts(facts.begin(), facts.end());
}

// Returns the value of `name`, or "nothing" if `facts` does not contain it.
std::string ValueIn(const Facts& facts, const std::string& name) {
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

std::string BroadcastText(Ranks* ranks, absl::string_view text) {
  if (Alone(ranks)) return std::string(text);
  return GatherTexts(*ranks, ranks->rank() == 0 ? text : "")[0];
}

bool BroadcastFlag(Ranks* ranks, bool value) {
  if (Alone(ranks)) return value;
  return MaxOverRanks(ranks, ranks->rank() == 0 && value ? 1 : 0) != 0;
}

int MaxOverRanks(Ranks* ranks, int value) {
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
  const Facts first = ParseFacts(texts[0]);
  std::string differences;
  for (size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] == texts[0]) continue;
    const Facts other = ParseFacts(texts[rank]);
    Facts all = first;
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
