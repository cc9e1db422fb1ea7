#include "data/text/text_source.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autodiff/random.h"
#include "data/data_source.h"
#include "data/grammar.h"
#include "data/made_words.h"
#include "data/text/prepared_text.h"
#include "data/text/text.pb.h"
#include "data/text_file.h"
#include "files/file.h"
#include "files/utf8.h"
#include "options/config_problems.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

bool BeginsCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

// Whether the whole file is the test split.
bool IsTest(const TextConfig& config) {
  return config.dev_fraction() == 0 && config.test_fraction() == 1;
}

// Returns the number of bytes of the first `count` characters.
size_t BytesOf(absl::string_view text, int64_t count) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if (BeginsCharacter(text[at]) && count-- == 0) break;
  }
  return at;
}

class TextSource : public WithOptions<DataSource<TextData>, TextConfig> {
 public:
  using WithOptions::WithOptions;
  static constexpr bool kReadsDevPath = true;

  // If the whole file is the test split, a trained model can predict without
  // data.path.
  static DataPathRequirement Path(const Options& options) {
    return IsTest(options) ? DataPathRequirement::kOptional
                           : DataPathRequirement::kRequired;
  }

  static void Validate(const Options& options, ConfigProblems& problems) {
    if (IsTest(options)) {
      problems.CheckRanges(options);
    } else {
      ValidateRangesAndFractions(options, problems);
    }
  }

  absl::StatusOr<TextData> Load(const DataRequest& request) const override {
    if (request.path.empty()) {
      return absl::InvalidArgumentError(
          "error: data.path names no text file; set it with --set "
          "data.path=FILE");
    }
    const std::string path = ResolveUserPath(request.path);
    const LineEnds ends = LineEndsOf(request.text_version);
    if (request.dev_path.empty()) return ReadTextFile(path, options_, ends);
    TextConfig options = options_;
    options.set_dev_fraction(0);
    REGARD_ASSIGN_OR_RETURN(TextData data, ReadTextFile(path, options, ends));
    options.set_test_fraction(0);
    REGARD_ASSIGN_OR_RETURN(
        TextData dev,
        ReadTextFile(ResolveUserPath(request.dev_path), options, ends));
    data.splits.dev = std::move(dev.splits.train);
    data.digests["data.dev_path"] = dev.digests["data.path"];
    data.notes.insert(data.notes.end(), dev.notes.begin(), dev.notes.end());
    return data;
  }
};

class GrammarSource : public WithOptions<DataSource<TextData>, GrammarConfig> {
 public:
  using WithOptions::WithOptions;

  absl::StatusOr<TextData> Load(const DataRequest& request) const override {
    const Grammar grammar(EnglishRules());
    const auto sentences = [&](int64_t count, const char* split) {
      return grammar.GenerateSentences(count, request.seed, split);
    };
    TextData data;
    data.splits = {sentences(options_.train(), "train"),
                   sentences(options_.dev(), "dev"),
                   sentences(options_.test(), "test")};
    data.entropy = grammar.SentenceEntropy() / grammar.MeanLineCharacters();
    return data;
  }
};

class RepeatedTokensSource
    : public WithOptions<DataSource<TextData>, RepeatedTokensConfig> {
 public:
  using WithOptions::WithOptions;

  static void Validate(const Options& options, ConfigProblems& problems) {
    problems.CheckRanges(options);
    problems.RequireInRange("symbols", options.symbols(), options.length(),
                            1e6);
    const double longest =
        2.0 * options.length() + options.most_before() + options.most_gap();
    CheckWordCount(
        longest * (1.0 * options.train() + options.dev() + options.test()),
        "train", problems);
  }

  absl::StatusOr<TextData> Load(const DataRequest& request) const override {
    const auto lines = [&](int count, const char* split) {
      return Lines(count,
                   RandomStream(request.seed,
                                absl::StrCat("data/repeated_tokens/", split)));
    };
    TextData data;
    data.splits = {lines(options_.train(), "train"),
                   lines(options_.dev(), "dev"),
                   lines(options_.test(), "test")};
    return data;
  }

 private:
  std::string Lines(int count, const RandomStream& random) const {
    uint64_t draws = 0;
    const auto below = [&](int bound) {
      return static_cast<int>(
          random.UniformIntAt(draws++, static_cast<uint64_t>(bound)));
    };
    std::vector<int> symbols(static_cast<size_t>(options_.symbols()));
    std::iota(symbols.begin(), symbols.end(), 0);
    std::string text;
    const auto add_others = [&](int most) {
      for (int left = below(most + 1); left > 0; --left) {
        absl::StrAppend(&text, below(options_.symbols()), " ");
      }
    };
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < options_.length(); ++j) {
        std::swap(symbols[j], symbols[j + below(options_.symbols() - j)]);
      }
      const std::string stretch = absl::StrJoin(
          symbols.begin(), symbols.begin() + options_.length(), " ");
      add_others(options_.most_before());
      absl::StrAppend(&text, stretch, " ");
      add_others(options_.most_gap());
      absl::StrAppend(&text, stretch, "\n");
    }
    return text;
  }
};

class PlaceholderTextSource
    : public WithOptions<DataSource<TextData>, PlaceholderTextConfig> {
 public:
  using WithOptions::WithOptions;
  static constexpr DataPathRequirement kPath = DataPathRequirement::kIgnored;

  static void Validate(const Options& options, ConfigProblems& problems) {
    problems.CheckRanges(options);
    problems.RequireInRange("characters", options.characters(),
                            options.vocabulary(), 1e8);
  }

  absl::StatusOr<TextData> Load(const DataRequest&) const override {
    TextData data;
    for (int i = 0; i < options_.characters(); ++i) {
      // Every character is outside the basic multilingual plane.
      const int index = i % options_.vocabulary();
      AppendUtf8(0x10000 + static_cast<char32_t>(index), &data.splits.train);
    }
    return data;
  }
};

}  // namespace

TextSplits SplitText(absl::string_view text, const TextConfig& config) {
  const auto characters = static_cast<double>(
      std::count_if(text.begin(), text.end(), BeginsCharacter));
  const auto offset = [&](double share) {
    size_t at =
        BytesOf(text, static_cast<int64_t>(std::floor(share * characters)));
    if (config.whole_lines() && at > 0 && text[at - 1] != '\n') {
      const size_t newline = text.find('\n', at);
      at = newline == absl::string_view::npos ? text.size() : newline + 1;
    }
    return at;
  };
  const size_t dev =
      offset(1 - (config.dev_fraction() + config.test_fraction()));
  const size_t test = config.test_fraction() > 0
                          ? offset(1 - config.test_fraction())
                          : text.size();
  return {std::string(text.substr(0, dev)),
          std::string(text.substr(dev, test - dev)),
          std::string(text.substr(test))};
}

absl::StatusOr<TextData> ReadTextFile(const std::string& path,
                                      const TextConfig& config, LineEnds ends) {
  REGARD_ASSIGN_OR_RETURN(
      const WholeText whole,
      ReadWholeText(path, "text",
                    "\n  A text is any file in UTF-8. Name it in the config, "
                    "`data { path: \"input.txt\" }`,\n  or with --set "
                    "data.path=input.txt",
                    ends));
  const auto error = [&](absl::string_view problem) {
    return absl::InvalidArgumentError(
        ErrorInText(path, whole.text, 0, problem));
  };
  if (whole.text.empty()) return error("the file must not be empty");
  TextData data;
  data.splits = SplitText(whole.text, config);
  if (data.splits.train.empty() && !IsTest(config)) {
    return error(
        "no text is left for training; use a longer file, or lower "
        "data.text.dev_fraction or data.text.test_fraction");
  }
  data.digests["data.path"] = whole.sha256;
  const TextCleanupCounts counts = {.carriage_returns = whole.carriage_returns};
  if (whole.carriage_returns > 0) data.notes.push_back(counts.Note(path));
  return data;
}

REGARD_DATA_SOURCES(TextSource) {
  sources.Add<TextSource>("a text file");
  sources.Add<GrammarSource>("sentences of a grammar with known entropy");
  sources.Add<RepeatedTokensSource>(
      "random words that occur twice, for induction heads");
  sources.Add<PlaceholderTextSource>("text of a given size, for //tools:plan");
}

}  // namespace regard
