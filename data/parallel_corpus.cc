#include "data/parallel_corpus.h"

#include <algorithm>
#include <limits>

namespace regard {

namespace {

// Stands for <eos> until a corpus is encoded.
constexpr int32_t kEndNumber = -1;

}  // namespace

std::vector<int32_t> EncodeSentence(absl::Span<const std::string> tokens,
                                    const Vocabulary& vocabulary,
                                    int64_t cut_tokens) {
  std::vector<int32_t> ids = vocabulary.Encode(tokens);
  ids.push_back(Vocabulary::kEnd);
  if (cut_tokens > 0 && static_cast<int64_t>(ids.size()) > cut_tokens) {
    ids.resize(cut_tokens);
  }
  return ids;
}

int32_t TokenizedCorpus::CountToken(absl::string_view token, Side side) {
  const auto [entry, is_new] =
      numbers_.try_emplace(token, static_cast<int32_t>(counts_.size()));
  if (is_new) counts_.emplace_back();
  Counts& counts = counts_[entry->second];
  if (counts.times[side]++ == 0) counts.first[side] = tokens_;
  ++tokens_;
  return entry->second;
}

void TokenizedCorpus::Add(absl::Span<const std::string> source,
                          absl::Span<const std::string> target) {
  const auto add = [&](absl::Span<const std::string> tokens, Side side) {
    for (const std::string& token : tokens) {
      pairs_.ids_.push_back(CountToken(token, side));
    }
    pairs_.ids_.push_back(kEndNumber);
    pairs_.ends_.push_back(pairs_.num_ids());
  };
  add(source, kSource);
  add(target, kTarget);
}

void TokenizedCorpus::Count(absl::Span<const std::string> source,
                            absl::Span<const std::string> target) {
  for (const std::string& token : source) CountToken(token, kSource);
  for (const std::string& token : target) CountToken(token, kTarget);
}

Vocabulary TokenizedCorpus::Build(bool source, bool target,
                                  int64_t min_frequency) const {
  struct Entry {
    int64_t first;
    int64_t times;
    absl::string_view token;
  };
  std::vector<Entry> entries;
  for (const auto& [token, number] : numbers_) {
    const Counts& counts = counts_[number];
    Entry entry = {std::numeric_limits<int64_t>::max(), 0, token};
    for (const Side side : {kSource, kTarget}) {
      if (!(side == kSource ? source : target)) continue;
      if (counts.times[side] == 0) continue;
      entry.times += counts.times[side];
      entry.first = std::min(entry.first, counts.first[side]);
    }
    if (entry.times > 0) entries.push_back(entry);
  }
  // The map has no order of its own.
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.first < b.first; });
  VocabularyBuilder builder;
  for (const Entry& entry : entries) builder.Add(entry.token, entry.times);
  return builder.Build(min_frequency);
}

Vocabulary TokenizedCorpus::SourceVocabulary(int64_t min_frequency) const {
  return Build(/*source=*/true, /*target=*/false, min_frequency);
}

Vocabulary TokenizedCorpus::TargetVocabulary(int64_t min_frequency) const {
  return Build(/*source=*/false, /*target=*/true, min_frequency);
}

Vocabulary TokenizedCorpus::SharedVocabulary(int64_t min_frequency) const {
  return Build(/*source=*/true, /*target=*/true, min_frequency);
}

ParallelCorpus TokenizedCorpus::Encode(const Vocabulary& source,
                                       const Vocabulary& target,
                                       int64_t cut_tokens) && {
  std::vector<int32_t> ids[2];
  for (auto& side : ids) side.resize(counts_.size());
  for (const auto& [token, number] : numbers_) {
    const auto known = [&token = token](const Vocabulary& vocabulary) {
      const int32_t id = vocabulary.Id(token);
      return id < Vocabulary::kReserved ? Vocabulary::kUnknown : id;
    };
    ids[kSource][number] = known(source);
    ids[kTarget][number] = known(target);
  }
  // In place: what is written never overtakes what is read.
  int64_t written = 0;
  int64_t begin = 0;
  for (size_t i = 0; i < pairs_.ends_.size(); ++i) {
    const std::vector<int32_t>& known = ids[i % 2];
    const int64_t end = pairs_.ends_[i];
    const int64_t kept =
        cut_tokens > 0 ? std::min(end, begin + cut_tokens) : end;
    for (int64_t j = begin; j < kept; ++j) {
      const int32_t number = pairs_.ids_[j];
      pairs_.ids_[written++] =
          number == kEndNumber ? Vocabulary::kEnd : known[number];
    }
    pairs_.ends_[i] = written;
    begin = end;
  }
  pairs_.ids_.resize(written);
  return std::move(pairs_);
}

}  // namespace regard
