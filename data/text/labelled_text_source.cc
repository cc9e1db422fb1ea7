#include "data/text/labelled_text_source.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "autodiff/random.h"
#include "data/data_source.h"
#include "data/grammar.h"
#include "data/text_file.h"
#include "files/file.h"
#include "nn/config_problems.h"
#include "third_party/abseil_backport/check.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// The verbs of the grammar, of one and of many.
constexpr std::pair<const char*, const char*> kVerbs[] = {
    {"sleeps", "sleep"},   {"sings", "sing"}, {"sees", "see"},
    {"follows", "follow"}, {"likes", "like"},
};

// The other number of a verb; empty for other words.
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
  static constexpr DataPath kPath = DataPath::kRequired;

  static void Validate(const Options& options, ConfigProblems& problems) {
    ValidateFractions(options, problems);
  }

  absl::StatusOr<LabelledTextData> Load(
      const DataRequest& request) const override {
    return ReadLabelledText(ResolveUserPath(request.path), options_);
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
    // Other sentences than those of the data source `grammar`.
    const std::string purpose = absl::StrCat("grammaticality/", split);
    const std::string sentences =
        Grammar(EnglishRules()).Sentences(count, seed, purpose);
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

absl::Status UseLabels(const std::vector<std::string>& labels,
                       LabelledSplits* data) {
  for (auto* split : {&data->train, &data->dev, &data->test}) {
    for (LabelledText& example : *split) {
      const std::string& name =
          data->labels[static_cast<size_t>(example.label)];
      const auto found = std::ranges::find(labels, name);
      if (found == labels.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("error: data: the model knows no label '", name,
                         "'; it knows ", absl::StrJoin(labels, ", ")));
      }
      example.label = static_cast<int32_t>(found - labels.begin());
    }
  }
  data->labels = labels;
  return absl::OkStatus();
}

absl::StatusOr<LabelledTextData> ReadLabelledText(
    const std::string& path, const LabelledTextConfig& config) {
  REGARD_ASSIGN_OR_RETURN(
      const WholeText whole,
      ReadWholeText(path, "labelled text",
                    "\n  Each line is a label, a tab and a text. Name the "
                    "file with --set data.path=FILE"));
  const auto error = [&](size_t line, absl::string_view problem) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":", line, ": error: ", problem));
  };
  absl::string_view text = whole.text;
  absl::ConsumeSuffix(&text, "\n");
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  const auto begin_of = [&](double share) {
    return static_cast<size_t>(
        std::llround((1 - share) * static_cast<double>(lines.size())));
  };
  const size_t test = begin_of(config.test_fraction());
  const size_t dev = begin_of(config.dev_fraction() + config.test_fraction());
  LabelledTextData data;
  LabelledSplits& splits = data.splits;
  for (size_t i = 0; i < lines.size(); ++i) {
    absl::string_view line = lines[i];
    absl::ConsumeSuffix(&line, "\r");
    const size_t tab = line.find('\t');
    if (tab == absl::string_view::npos || tab == 0) {
      return error(i + 1, "a label, a tab and a text are wanted");
    }
    const std::string label(line.substr(0, tab));
    auto found = std::find(splits.labels.begin(), splits.labels.end(), label);
    if (found == splits.labels.end()) {
      if (i >= dev) {
        return error(i + 1, absl::StrCat("label '", label,
                                         "' is not in the training part"));
      }
      found = splits.labels.insert(found, label);
    }
    auto& split = i < dev ? splits.train : i < test ? splits.dev : splits.test;
    split.push_back({std::string(line.substr(tab + 1)),
                     static_cast<int32_t>(found - splits.labels.begin())});
  }
  if (splits.labels.size() < 2) {
    return error(1, "the training part has fewer than two labels");
  }
  data.digests["data.path"] = whole.sha256;
  return data;
}

REGARD_DATA_SOURCES(LabelledTextSource) {
  sources.Add<LabelledTextSource>("a file of labels and texts");
  sources.Add<GrammaticalitySource>(
      "sentences of a grammar, right or with a verb of the wrong number");
}

}  // namespace regard
