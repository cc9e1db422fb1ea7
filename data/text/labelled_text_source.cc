#include "data/text/labelled_text_source.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "autodiff/random.h"
#include "data/data_source.h"
#include "data/grammar.h"
#include "data/text/entailment.h"
#include "data/text/labelled_text.pb.h"
#include "data/text/prepared_text.h"
#include "data/text_file.h"
#include "files/file.h"
#include "files/utf8.h"
#include "options/config_problems.h"
#include "third_party/abseil_backport/check.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// The verbs of the grammar in singular and plural.
constexpr std::pair<const char*, const char*> kVerbs[] = {
    {"sleeps", "sleep"},   {"sings", "sing"}, {"sees", "see"},
    {"follows", "follow"}, {"likes", "like"},
};

// Returns the plural of a singular verb and the singular of a plural verb, or
// "" for other words.
std::string OtherNumber(absl::string_view word) {
  for (const auto& [one, many] : kVerbs) {
    if (word == one) return many;
    if (word == many) return one;
  }
  return "";
}

class LabelledTextSource
    : public WithOptions<DataSource<LabelledTextData>, LabelledTextConfig> {
 public:
  using WithOptions::WithOptions;

  // If all lines are in the test split, a trained model can predict without a
  // file.
  static DataPathRequirement Path(const Options& options) {
    return options.dev_fraction() == 0 && options.test_fraction() == 1
               ? DataPathRequirement::kOptional
               : DataPathRequirement::kRequired;
  }

  static void Validate(const Options& options, ConfigProblems& problems) {
    ValidateRangesAndFractions(options, problems);
  }

  absl::StatusOr<LabelledTextData> Load(
      const DataRequest& request) const override {
    if (request.path.empty()) {
      return absl::InvalidArgumentError(
          "error: data.path names no file of labelled texts; set it with --set "
          "data.path=FILE");
    }
    return ReadLabelledText(ResolveUserPath(request.path), options_,
                            request.text_version);
  }
};

class GrammaticalitySource
    : public WithOptions<DataSource<LabelledTextData>, GrammaticalityConfig> {
 public:
  using WithOptions::WithOptions;

  absl::StatusOr<LabelledTextData> Load(
      const DataRequest& request) const override {
    LabelledTextData data;
    data.splits.labels = {"right", "wrong"};
    data.splits.train = Make(options_.train(), request.seed, "train");
    data.splits.dev = Make(options_.dev(), request.seed, "dev");
    data.splits.test = Make(options_.test(), request.seed, "test");
    return data;
  }

 private:
  static std::vector<LabelledText> Make(int64_t count, uint64_t seed,
                                        const char* split) {
    // Because of the purpose, the sentences differ from the sentences of the
    // data source `grammar`.
    const std::string purpose = absl::StrCat("grammaticality/", split);
    const std::string sentences =
        Grammar(EnglishRules()).GenerateSentences(count, seed, purpose);
    const RandomStream random(seed, absl::StrCat("data/", purpose));
    std::vector<LabelledText> texts;
    for (const absl::string_view line : absl::StrSplit(
             absl::StripSuffix(sentences, "\n"), '\n', absl::SkipEmpty())) {
      const auto i = static_cast<uint64_t>(texts.size());
      if (i % 2 == 0) {
        texts.push_back({std::string(line), 0});
      } else {
        texts.push_back({WithWrongNumber(line, random.BitsAt(i)), 1});
      }
    }
    return texts;
  }
};

class EntailmentSource
    : public WithOptions<DataSource<LabelledTextData>, EntailmentConfig> {
 public:
  using WithOptions::WithOptions;

  absl::StatusOr<LabelledTextData> Load(
      const DataRequest& request) const override {
    const EntailmentPairs pairs;
    LabelledTextData data;
    LabelledSplits& splits = data.splits;
    splits.labels.assign(std::begin(kEntailmentLabels),
                         std::end(kEntailmentLabels));
    const auto make = [&](int64_t count, EntailmentPairs::Part part) {
      return pairs.Make(count, request.seed, part);
    };
    splits.train = make(options_.train(), EntailmentPairs::Part::kTrain);
    splits.dev = make(options_.dev(), EntailmentPairs::Part::kDev);
    splits.test = make(options_.test(), EntailmentPairs::Part::kTest);
    return data;
  }
};

// Returns the fields of a line, separated by tabs. The line must have at most
// 64 KiB, and two or three fields, as many as the first line. `error` makes an
// error from a column and a message.
absl::StatusOr<std::vector<absl::string_view>> ColumnsOf(
    absl::string_view line, size_t wanted,
    absl::FunctionRef<absl::Status(size_t, absl::string_view)> error) {
  if (std::ssize(line) > kMaxLineBytes) {
    return error(
        kMaxLineBytes + 1,
        "the line is longer than 64 KiB, the limit for a line; shorten it");
  }
  const std::vector<absl::string_view> columns = absl::StrSplit(line, '\t');
  if (columns.size() != wanted) {
    size_t column = line.size() + 1;
    if (columns.size() > wanted) {
      // The column of the tab, counted from 1.
      column = columns[wanted].data() - line.data();
    }
    return error(column, absl::StrCat("expected LABEL<TAB>TEXT",
                                      wanted == 3 ? "<TAB>SECOND_TEXT" : "",
                                      ", as in line 1; got ",
                                      columns.size() - 1, " tabs"));
  }
  if (columns[0].empty()) return error(1, "the label must not be empty");
  return columns;
}

}  // namespace

std::string WithWrongNumber(absl::string_view sentence, uint64_t choice) {
  std::vector<std::string> words = absl::StrSplit(sentence, ' ');
  std::vector<size_t> verbs;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!OtherNumber(words[i]).empty()) verbs.push_back(i);
  }
  REGARD_CHECK(!verbs.empty())
      << "no verb in '" << std::string(sentence) << "'";
  std::string& verb = words[verbs[choice % verbs.size()]];
  verb = OtherNumber(verb);
  return absl::StrJoin(words, " ");
}

absl::Status ReplaceLabels(const std::vector<std::string>& labels,
                           LabelledSplits* data) {
  for (auto* split : {&data->train, &data->dev, &data->test}) {
    for (LabelledText& example : *split) {
      const std::string& name =
          data->labels[static_cast<size_t>(example.label)];
      const auto found = std::ranges::find(labels, name);
      if (found == labels.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("error: data: the model does not know label '", name,
                         "'; it knows ", absl::StrJoin(labels, ", ")));
      }
      example.label = static_cast<int32_t>(found - labels.begin());
    }
  }
  data->labels = labels;
  return absl::OkStatus();
}

absl::StatusOr<LabelledTextData> ReadLabelledText(
    const std::string& path, const LabelledTextConfig& config,
    int text_version) {
  REGARD_ASSIGN_OR_RETURN(
      const WholeText whole,
      ReadWholeText(path, "labelled text",
                    "\n  Each line is a label and one or two texts, separated "
                    "by tabs. Name the file with --set data.path=FILE",
                    LineEndsOf(text_version)));
  TextCleanupCounts counts = {.carriage_returns = whole.carriage_returns};
  std::vector<absl::string_view> lines;
  std::vector<size_t> numbers;  // line numbers, from 1
  size_t number = 0;
  for (const absl::string_view line :
       absl::StrSplit(absl::StripSuffix(whole.text, "\n"), '\n')) {
    ++number;
    if (SplitOnWhitespace(line).empty()) {
      ++counts.blank_lines;
      continue;
    }
    lines.push_back(line);
    numbers.push_back(number);
  }
  if (lines.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ":1:1: error: the file has no labelled text; each line must be a label "
        "and one or two texts, separated by tabs"));
  }
  const auto begin_of = [&](double share) {
    return static_cast<size_t>(
        std::llround((1 - share) * static_cast<double>(lines.size())));
  };
  const size_t test = begin_of(config.test_fraction());
  const size_t dev = begin_of(config.dev_fraction() + config.test_fraction());
  LabelledTextData data;
  LabelledSplits& splits = data.splits;
  absl::flat_hash_map<absl::string_view, int32_t> ids;  // ids by label
  const size_t columns_wanted = std::ranges::count(lines[0], '\t') == 2 ? 3 : 2;
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto error = [&](size_t column, absl::string_view problem) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ":", numbers[i], ":", column, ": error: ", problem));
    };
    REGARD_ASSIGN_OR_RETURN(
        const std::vector<absl::string_view> columns,
        ColumnsOf(absl::StripSuffix(lines[i], "\r"), columns_wanted, error));
    const auto [id, is_new] =
        ids.try_emplace(columns[0], static_cast<int32_t>(ids.size()));
    if (is_new) {
      if (i >= dev && dev > 0) {
        return error(1, absl::StrCat("label '", columns[0],
                                     "' must also occur in the training part, "
                                     "the first lines of the file"));
      }
      splits.labels.emplace_back(columns[0]);
    }
    auto& split = i < dev ? splits.train : i < test ? splits.dev : splits.test;
    split.push_back({std::string(columns[1]), id->second});
    if (columns.size() == 3) split.back().second.emplace(columns[2]);
  }
  if (dev > 0 && splits.labels.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     ":1:1: error: the training part must have at least two "
                     "labels, but has only one"));
  }
  data.digests["data.path"] = whole.sha256;
  const std::string note = counts.Note("data.path");
  if (!note.empty()) data.notes.push_back(note);
  return data;
}

REGARD_DATA_SOURCES(LabelledTextSource) {
  sources.Add<LabelledTextSource>(
      "labelled texts or pairs of texts from a file");
  sources.Add<EntailmentSource>(
      "pairs of sentences: the first entails the second, contradicts it, or "
      "neither");
  sources.Add<GrammaticalitySource>(
      "sentences of a grammar, correct or with a verb in the wrong number");
}

}  // namespace regard
