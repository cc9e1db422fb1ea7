#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autodiff/random.h"
#include "data/corpus.h"
#include "data/data_source.h"
#include "data/pairs/pairs_validation.h"
#include "data/pairs/sentence_source.h"
#include "data/pairs/subword_sampler.h"
#include "data/text/sentencepiece_model.h"
#include "data/text/subword_trainer.h"
#include "files/file.h"
#include "files/sha256.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr int64_t kMostModelBytes = int64_t{1} << 26;
// Names of subword models in a run folder.
constexpr char kJointModel[] = "subwords.model";
constexpr char kSourceModel[] = "source_subwords.model";
constexpr char kTargetModel[] = "target_subwords.model";

// What the training split leaves out.
struct Omissions {
  int64_t empty = 0;
  int64_t copies = 0;
  int64_t too_long = 0;
  int64_t uneven = 0;

  int64_t all() const { return empty + copies + too_long + uneven; }

  // "4 of 100 pairs of train are left out: 1 with an empty side, ..."
  std::string Text(int64_t kept) const {
    std::vector<std::string> reasons;
    const auto add = [&](int64_t count, const char* reason) {
      if (count > 0) reasons.push_back(absl::StrCat(count, " ", reason));
    };
    add(empty, "with an empty side");
    add(copies, "with two equal sides");
    add(too_long, "over max_tokens");
    add(uneven, "over max_ratio");
    return absl::StrCat(
        all(), " of ", all() + kept,
        " pairs of train are left out: ", absl::StrJoin(reasons, ", "));
  }
};

absl::StatusOr<std::shared_ptr<const SentencepieceModel>> ParseModel(
    const std::string& bytes, const std::string& name) {
  REGARD_ASSIGN_OR_RETURN(SentencepieceModel model,
                          SentencepieceModel::Parse(bytes, name));
  return std::make_shared<const SentencepieceModel>(std::move(model));
}

// "error: data.pairs.subwords: ..."
absl::Status SubwordError(const absl::Status& status) {
  return absl::Status(
      status.code(),
      absl::StrCat("error: data.pairs.subwords: ", status.message()));
}

std::vector<std::string> WordsOf(absl::string_view text) {
  return SplitTokens(PrepareText(text));
}

class PairsSource : public WithOptions<SentenceSource, PairsConfig> {
 public:
  using WithOptions::WithOptions;

  static DataPath Path(const Options& options) {
    return options.has_train() ? DataPath::kNone : DataPath::kRequired;
  }

  static void Validate(const Options& options, ConfigProblems& problems) {
    ValidatePairs(options, problems);
  }

  int64_t cut_tokens() const override { return options_.cut_tokens(); }

  absl::StatusOr<SentenceData> Load(const DataRequest& request) const override {
    return options_.has_train() ? LoadSplits(request) : LoadFile(request.path);
  }

  absl::StatusOr<Tokenizers> MakeTokenizers(
      const ReadRunFile& read) const override {
    if (!options_.has_subwords()) return Tokenizers();
    const auto model = [&](const char* name)
        -> absl::StatusOr<std::shared_ptr<const SentencepieceModel>> {
      REGARD_ASSIGN_OR_RETURN(const std::string bytes, read(name));
      return ParseModel(bytes, name);
    };
    Tokenizers tokenizers;
    if (options_.subwords().joint()) {
      REGARD_ASSIGN_OR_RETURN(tokenizers.source, model(kJointModel));
      tokenizers.target = tokenizers.source;
      return tokenizers;
    }
    REGARD_ASSIGN_OR_RETURN(tokenizers.source, model(kSourceModel));
    REGARD_ASSIGN_OR_RETURN(tokenizers.target, model(kTargetModel));
    return tokenizers;
  }

 private:
  absl::StatusOr<SentenceData> LoadFile(const std::string& path) const {
    REGARD_ASSIGN_OR_RETURN(Corpus corpus,
                            ReadCorpus(ResolveUserPath(path), options_));
    const std::vector<SentencePair>& pairs = corpus.pairs;
    SentenceData data;
    data.cut_tokens = options_.cut_tokens();
    data.min_frequency = options_.min_frequency();
    const auto dev = static_cast<size_t>(options_.dev_pairs());
    if (dev >= pairs.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": error: ", pairs.size(),
          " pairs leave nothing to train on when ", dev, " are kept for dev"));
    }
    const size_t train = pairs.size() - dev;
    data.dev.pairs.assign(pairs.begin() + static_cast<int64_t>(train),
                          pairs.end());
    for (size_t i = 0; i < train; ++i) {
      data.train.Add(pairs[i].source, pairs[i].target);
    }
    AddSamples(data);
    data.digests["data.path"] = corpus.sha256;
    return data;
  }

  absl::StatusOr<SentenceData> LoadSplits(const DataRequest& request) const {
    SentenceData data;
    data.cut_tokens = options_.cut_tokens();
    data.min_frequency = options_.min_frequency();
    std::shared_ptr<SubwordSampler> sampler;
    REGARD_ASSIGN_OR_RETURN(const std::set<int64_t> held_out,
                            HeldOut(request.seed));
    if (options_.has_subwords()) {
      REGARD_RETURN_IF_ERROR(LoadSubwords(request, held_out, data));
      REGARD_ASSIGN_OR_RETURN(sampler,
                              MakeSampler(request.seed, data.tokenizers));
    }
    REGARD_RETURN_IF_ERROR(LoadTrain(held_out, sampler.get(), data));
    if (sampler != nullptr) REGARD_RETURN_IF_ERROR(sampler->Finish());
    data.sampler = std::move(sampler);
    if (options_.has_dev()) {
      REGARD_RETURN_IF_ERROR(
          LoadSet("data.pairs.dev", options_.dev(), data, data.dev));
    }
    AddSamples(data);
    for (int i = 0; i < options_.test_size(); ++i) {
      EvaluationSet test;
      test.name = options_.test(i).name();
      REGARD_RETURN_IF_ERROR(LoadSet(absl::StrCat("data.pairs.test[", i, "]"),
                                     options_.test(i), data, test));
      data.tests.push_back(std::move(test));
    }
    return data;
  }

  static std::vector<std::string> Tokens(const SentencepieceModel* tokenizer,
                                         absl::string_view text) {
    return tokenizer == nullptr ? WordsOf(text) : tokenizer->Tokenize(text);
  }

  static absl::Status AddDigests(const PairReader& reader,
                                 const std::string& field,
                                 const PairFilesConfig& files,
                                 SentenceData& data) {
    const char* const first = files.has_path() ? ".path" : ".source";
    REGARD_ASSIGN_OR_RETURN(data.digests[field + first], reader.FirstDigest());
    if (!files.has_path()) {
      REGARD_ASSIGN_OR_RETURN(data.digests[field + ".target"],
                              reader.SecondDigest());
    }
    if (reader.carriage_returns() > 0) {
      data.notes.push_back(absl::StrCat(
          field, ": ", reader.carriage_returns(),
          " lines end in a carriage return, which is not part of the text"));
    }
    return absl::OkStatus();
  }

  // Reads the models that are given or that the run has kept, or trains them.
  absl::Status LoadSubwords(const DataRequest& request,
                            const std::set<int64_t>& held_out,
                            SentenceData& data) const {
    const SubwordsConfig& config = options_.subwords();
    Tokenizers& models = data.tokenizers;
    const auto load = [&](const char* name, const std::string& given,
                          const char* given_field, bool source, bool target)
        -> absl::StatusOr<std::shared_ptr<const SentencepieceModel>> {
      std::string bytes;
      if (given.empty()) {
        REGARD_ASSIGN_OR_RETURN(bytes,
                                request.read_run_file != nullptr
                                    ? request.read_run_file(name)
                                    : TrainModel(held_out, source, target));
      } else {
        absl::StatusOr<std::string> read =
            ReadFile(ResolveUserPath(given), kMostModelBytes);
        if (!read.ok()) return SubwordError(read.status());
        bytes = *std::move(read);
        data.digests[absl::StrCat("data.pairs.subwords.", given_field)] =
            Sha256Hex(bytes);
      }
      data.digests[name] = Sha256Hex(bytes);
      data.files[name] = bytes;
      return ParseModel(bytes, given.empty() ? std::string(name) : given);
    };
    if (config.joint()) {
      REGARD_ASSIGN_OR_RETURN(
          models.source,
          load(kJointModel, config.source_model(), "source_model", true, true));
      models.target = models.source;
    } else {
      REGARD_ASSIGN_OR_RETURN(models.source,
                              load(kSourceModel, config.source_model(),
                                   "source_model", true, false));
      REGARD_ASSIGN_OR_RETURN(models.target,
                              load(kTargetModel, config.target_model(),
                                   "target_model", false, true));
    }
    data.source_vocabulary = models.source->MakeVocabulary();
    data.target_vocabulary = models.target->MakeVocabulary();
    return absl::OkStatus();
  }

  // Null where the config asks for none. The kind of models that are given is
  // known only here.
  absl::StatusOr<std::shared_ptr<SubwordSampler>> MakeSampler(
      uint64_t seed, const Tokenizers& models) const {
    if (!options_.subwords().has_sampling()) return nullptr;
    const SubwordSamplingConfig& config = options_.subwords().sampling();
    for (const auto& model : {models.source, models.target}) {
      if (!model->is_bpe() && !model->is_unigram()) {
        return SubwordError(absl::InvalidArgumentError(
            "sampling: a model of characters has one segmentation alone"));
      }
      if (config.nbest_size() != SubwordSamplingConfig().nbest_size() &&
          !model->is_unigram()) {
        return SubwordError(absl::InvalidArgumentError(
            "sampling.nbest_size: is of UNIGRAM; the model is BPE"));
      }
    }
    return std::make_shared<SubwordSampler>(models.source, models.target,
                                            options_, seed);
  }

  // A model of the lines of the training files that are not held out: first the
  // source's, then the target's.
  absl::StatusOr<std::string> TrainModel(const std::set<int64_t>& held_out,
                                         bool source, bool target) const {
    std::string sentences;
    for (const bool is_source : {true, false}) {
      if (!(is_source ? source : target)) continue;
      REGARD_ASSIGN_OR_RETURN(PairReader reader,
                              PairReader::Open(options_.train()));
      for (int64_t pairs = 0; !Enough(pairs); ++pairs) {
        REGARD_ASSIGN_OR_RETURN(const bool more, reader.Next());
        if (!more) break;
        if (held_out.count(pairs) > 0) continue;
        absl::StrAppend(&sentences,
                        is_source ? reader.source() : reader.target(), "\n");
      }
    }
    absl::StatusOr<std::string> model =
        TrainSubwords(options_.subwords(), sentences);
    if (!model.ok()) return SubwordError(model.status());
    return model;
  }

  bool Enough(int64_t pairs) const {
    return options_.max_pairs() > 0 && pairs >= options_.max_pairs();
  }

  // Whether training uses the pair; counts it if not.
  bool Keeps(const std::vector<std::string>& source,
             const std::vector<std::string>& target,
             Omissions& omissions) const {
    const auto longer =
        static_cast<double>(std::max(source.size(), target.size()));
    const auto shorter =
        static_cast<double>(std::min(source.size(), target.size()));
    if (source.empty() || target.empty()) {
      ++omissions.empty;
    } else if (source == target) {
      ++omissions.copies;
    } else if (options_.max_tokens() > 0 && longer > options_.max_tokens()) {
      ++omissions.too_long;
    } else if (options_.max_ratio() > 0 &&
               longer > options_.max_ratio() * shorter) {
      ++omissions.uneven;
    } else {
      return true;
    }
    return false;
  }

  // `sampler` may be null.
  absl::Status LoadTrain(const std::set<int64_t>& held_out,
                         SubwordSampler* sampler, SentenceData& data) const {
    REGARD_ASSIGN_OR_RETURN(PairReader reader,
                            PairReader::Open(options_.train()));
    Omissions omissions;
    int64_t pairs = 0;
    for (; !Enough(pairs); ++pairs) {
      REGARD_ASSIGN_OR_RETURN(const bool more, reader.Next());
      if (!more) break;
      std::vector<std::string> source =
          Tokens(data.tokenizers.source.get(), reader.source());
      std::vector<std::string> target =
          Tokens(data.tokenizers.target.get(), reader.target());
      if (held_out.count(pairs) > 0) {
        AddPair(std::move(source), std::move(target), reader.target(), data,
                data.dev);
      } else if (Keeps(source, target, omissions)) {
        data.train.Add(source, target);
        if (sampler != nullptr) sampler->Add(reader.source(), reader.target());
      }
    }
    const std::string& name = options_.train().has_path()
                                  ? options_.train().path()
                                  : options_.train().source();
    if (pairs == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ":1:1: error: the file has no sentence pair"));
    }
    if (data.train.size() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          name,
          ":1:1: error: nothing is left to train on: ", omissions.Text(0)));
    }
    if (omissions.all() > 0) {
      data.notes.push_back(omissions.Text(data.train.size()));
    }
    return AddDigests(reader, "data.pairs.train", options_.train(), data);
  }

  // The pairs of train that are dev's: drawn without repetition.
  absl::StatusOr<std::set<int64_t>> HeldOut(uint64_t seed) const {
    std::set<int64_t> held_out;
    if (options_.dev_sample() == 0) return held_out;
    REGARD_ASSIGN_OR_RETURN(PairReader reader,
                            PairReader::Open(options_.train()));
    int64_t pairs = 0;
    for (; !Enough(pairs); ++pairs) {
      REGARD_ASSIGN_OR_RETURN(const bool more, reader.Next());
      if (!more) break;
    }
    if (options_.dev_sample() >= pairs) {
      return absl::InvalidArgumentError(
          absl::StrCat("error: data.pairs.dev_sample: ", pairs,
                       " pairs leave nothing to train on when ",
                       options_.dev_sample(), " are kept for dev"));
    }
    const RandomStream stream(seed, "dev_sample");
    for (uint64_t i = 0;
         static_cast<int64_t>(held_out.size()) < options_.dev_sample(); ++i) {
      held_out.insert(static_cast<int64_t>(
          stream.BelowAt(i, static_cast<uint64_t>(pairs))));
    }
    return held_out;
  }

  static void AddPair(std::vector<std::string> source,
                      std::vector<std::string> target,
                      absl::string_view reference, const SentenceData& data,
                      EvaluationSet& set) {
    set.pairs.push_back({std::move(source), std::move(target), {}});
    if (data.tokenizers.target != nullptr) {
      set.references.emplace_back(reference);
    }
  }

  // Keeps every line.
  static absl::Status LoadSet(const std::string& field,
                              const PairFilesConfig& files, SentenceData& data,
                              EvaluationSet& set) {
    REGARD_ASSIGN_OR_RETURN(PairReader reader, PairReader::Open(files));
    while (true) {
      REGARD_ASSIGN_OR_RETURN(const bool more, reader.Next());
      if (!more) break;
      AddPair(Tokens(data.tokenizers.source.get(), reader.source()),
              Tokens(data.tokenizers.target.get(), reader.target()),
              reader.target(), data, set);
    }
    if (set.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(files.has_path() ? files.path() : files.source(),
                       ":1:1: error: the file has no sentence pair"));
    }
    return AddDigests(reader, field, files, data);
  }

  // Raw text with subwords; with words, a test of a corpus in one file.
  void AddSamples(SentenceData& data) const {
    std::vector<SentencePair> samples;
    for (const SamplePair& sample : options_.samples()) {
      samples.push_back(
          {Tokens(data.tokenizers.source.get(), sample.source()),
           Tokens(data.tokenizers.target.get(), sample.reference()),
           {}});
    }
    if (options_.has_train()) {
      data.samples = std::move(samples);
    } else {
      data.tests.push_back({.pairs = std::move(samples)});
    }
  }
};

}  // namespace

REGARD_DATA_SOURCES(PairsSource) {
  sources.Add<PairsSource>("the lines of text files");
}

}  // namespace regard
