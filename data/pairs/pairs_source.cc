#include <array>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "autodiff/random.h"
#include "data/corpus.h"
#include "data/data_source.h"
#include "data/pairs/pairs_validation.h"
#include "data/pairs/sentence_source.h"
#include "data/pairs/subword_sampler.h"
#include "data/sentence_pair.h"
#include "data/text/prepared_text.h"
#include "data/text/sentencepiece_model.h"
#include "data/text/subword_trainer.h"
#include "files/file.h"
#include "files/sha256.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr int64_t kMaxModelBytes = int64_t{1} << 26;
// The maximum total size of the pairs in data.path.
constexpr int64_t kMaxTextBytes = int64_t{256} << 20;
// The maximum total size of the pairs of a split with its own files.
constexpr int64_t kMaxSplitBytes = int64_t{2} << 30;

constexpr absl::string_view kWhereCorporaComeFrom =
    "\n  A corpus is a text file of sentence pairs, one pair per line, the two "
    "sentences\n  separated by a tab. The English-French pairs `fra-eng` of "
    "Tatoeba are at\n  www.manythings.org/anki (fra-eng.zip; unpack fra.txt)."
    "\n  Name the file in the config, `data { path: \"fra.txt\" }`, or with"
    "\n  --set data.path=fra.txt";

// The reason why a training pair is left out, or kKept.
enum Fate { kEmpty, kCopy, kTooLong, kUneven, kKept, kNumFates };
using FateCounts = std::array<int64_t, kNumFates>;

// Returns a text such as "4 of 100 pairs of `train` are left out: 1 with an
// empty side, ...", or "" if all pairs are kept.
std::string OmissionsText(const FateCounts& counts) {
  constexpr const char* kReasons[kKept] = {
      "with an empty side", "with two equal sides", "over `max_tokens`",
      "over `max_ratio`"};
  std::vector<std::string> reasons;
  for (int fate = 0; fate < kKept; ++fate) {
    if (counts[fate] == 0) continue;
    reasons.push_back(absl::StrCat(counts[fate], " ", kReasons[fate]));
  }
  if (reasons.empty()) return "";
  const int64_t all = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  return absl::StrCat(
      all - counts[kKept], " of ", all,
      " pairs of `train` are left out: ", absl::StrJoin(reasons, ", "));
}

// A subword model of one side, or of both sides.
struct SubwordModel {
  const char* name;   // name in a run folder
  const char* field;  // field of SubwordsConfig that names a given model
  bool source;
  bool target;
};

absl::Status AddModel(const SubwordModel& model, const std::string& bytes,
                      const std::string& path, Tokenizers& tokenizers) {
  REGARD_ASSIGN_OR_RETURN(SentencepieceModel parsed,
                          SentencepieceModel::Parse(bytes, path));
  const auto shared =
      std::make_shared<const SentencepieceModel>(std::move(parsed));
  if (model.source) tokenizers.source = shared;
  if (model.target) tokenizers.target = shared;
  return absl::OkStatus();
}

// Prefixes the message with "error: data.pairs.subwords: ".
absl::Status SubwordError(const absl::Status& status) {
  return absl::Status(
      status.code(),
      absl::StrCat("error: data.pairs.subwords: ", status.message()));
}

// Calls `visit` for each of the first `most` pairs, or for all if `most` is 0.
// More than 2 GiB of text is an error.
absl::StatusOr<PairReader> ReadPairs(
    const PairFilesConfig& files, int64_t most, int text_version,
    absl::FunctionRef<void(const PairReader&)> visit) {
  REGARD_ASSIGN_OR_RETURN(PairReader reader,
                          PairReader::Open(files, most, text_version));
  for (int64_t bytes = 0;;) {
    REGARD_ASSIGN_OR_RETURN(const bool more, reader.Next());
    if (!more) return reader;
    bytes += std::ssize(reader.source()) + std::ssize(reader.target()) + 2;
    if (bytes > kMaxSplitBytes) {
      return reader.Error(reader.source(),
                          "more than 2 GiB of pairs; set max_pairs to read "
                          "only the first pairs of `train`");
    }
    visit(reader);
  }
}

class PairsSource : public WithOptions<SentenceSource, PairsConfig> {
 public:
  using WithOptions::WithOptions;

  static DataPathRequirement Path(const Options& options) {
    return options.has_train() ? DataPathRequirement::kNone
                               : DataPathRequirement::kRequired;
  }

  static void Validate(const Options& options, ConfigProblems& problems) {
    ValidatePairs(options, problems);
  }

  int64_t cut_tokens() const override { return options_.cut_tokens(); }

  absl::StatusOr<SentenceData> Load(const DataRequest& request) const override {
    SentenceData data;
    data.cut_tokens = options_.cut_tokens();
    // With subwords, every subword has an id.
    if (!options_.has_subwords()) {
      data.min_frequency = options_.min_frequency();
    }
    data.tokenizers.rules.version = request.text_version;
    REGARD_RETURN_IF_ERROR(options_.has_train() ? LoadSplits(request, data)
                                                : LoadFile(request.path, data));
    std::vector<SentencePair> samples;
    for (const SamplePair& sample : options_.samples()) {
      samples.push_back(
          Tokenize(data.tokenizers, sample.source(), sample.reference()));
    }
    // With separate splits, the samples are only translated. With a single
    // file, they are the test split.
    if (options_.has_train()) {
      data.samples = std::move(samples);
    } else {
      data.tests.push_back({.pairs = std::move(samples)});
    }
    return data;
  }

  absl::StatusOr<Tokenizers> MakeTokenizers(
      const ReadRunFile& read) const override {
    Tokenizers tokenizers;
    for (const SubwordModel& model : Models()) {
      REGARD_ASSIGN_OR_RETURN(const std::string bytes, read(model.name));
      REGARD_RETURN_IF_ERROR(AddModel(model, bytes, model.name, tokenizers));
    }
    return tokenizers;
  }

 private:
  // Returns the subword models. Empty if sentences are split into words.
  absl::Span<const SubwordModel> Models() const {
    static constexpr SubwordModel kJoint[] = {
        {"subwords.model", "source_model", true, true}};
    static constexpr SubwordModel kOfSides[] = {
        {"source_subwords.model", "source_model", true, false},
        {"target_subwords.model", "target_model", false, true}};
    if (!options_.has_subwords()) return {};
    if (options_.subwords().joint()) return kJoint;
    return kOfSides;
  }

  // Loads the pairs of a single file. Returns an error for a missing column, an
  // empty side, and a file without pairs. The error for a missing file says
  // where corpora come from.
  absl::Status LoadFile(const std::string& given, SentenceData& data) const {
    const std::string path = ResolveUserPath(given);
    if (path.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "error: data.path names no corpus file", kWhereCorporaComeFrom));
    }
    PairFilesConfig files;
    files.set_path(path);
    files.set_source_column(options_.source_column());
    files.set_target_column(options_.target_column());
    absl::StatusOr<PairReader> reader = PairReader::Open(
        files, options_.max_pairs(), data.tokenizers.rules.version);
    if (!reader.ok()) {
      const absl::Status& status = reader.status();
      if (absl::IsInvalidArgument(status)) return status;
      return absl::Status(
          status.code(), absl::StrCat(status.message(), kWhereCorporaComeFrom));
    }
    std::deque<SentencePair> last;  // at most dev_pairs
    int64_t bytes = 0;
    while (true) {
      REGARD_ASSIGN_OR_RETURN(const bool more, reader->Next());
      if (!more) break;
      bytes += static_cast<int64_t>(reader->source().size() +
                                    reader->target().size()) +
               2;
      if (bytes > kMaxTextBytes) {
        return reader->Error(
            reader->source(),
            "more than 256 MiB of pairs, the limit for data.path; set "
            "max_pairs to read only the first pairs");
      }
      last.push_back(
          Tokenize(data.tokenizers, reader->source(), reader->target()));
      if (last.back().source.empty()) {
        return reader->Error(reader->source(),
                             "the source sentence must not be empty");
      }
      if (last.back().target.empty()) {
        return reader->Error(reader->target(),
                             "the target sentence must not be empty");
      }
      if (static_cast<int64_t>(last.size()) > options_.dev_pairs()) {
        data.train.Add(last.front().source, last.front().target);
        last.pop_front();
      }
    }
    if (reader->pairs() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":1:1: error: ",
                       reader->lines() == 0 ? "the file is empty"
                                            : "the file has no sentence pair"));
    }
    if (data.train.size() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(given, ": error: ", reader->pairs(),
                       " pairs leave nothing to train on when ",
                       options_.dev_pairs(), " are held out for dev"));
    }
    data.dev.pairs.assign(last.begin(), last.end());
    AddNote(*reader, "data.path", data);
    REGARD_ASSIGN_OR_RETURN(data.digests["data.path"], reader->FirstDigest());
    return absl::OkStatus();
  }

  absl::Status LoadSplits(const DataRequest& request,
                          SentenceData& data) const {
    std::shared_ptr<SubwordSampler> sampler;
    REGARD_ASSIGN_OR_RETURN(const std::set<int64_t> held_out,
                            HeldOut(request.seed, request.text_version));
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
    for (int i = 0; i < options_.test_size(); ++i) {
      EvaluationSet test;
      test.name = options_.test(i).name();
      REGARD_RETURN_IF_ERROR(LoadSet(absl::StrCat("data.pairs.test[", i, "]"),
                                     options_.test(i), data, test));
      data.tests.push_back(std::move(test));
    }
    return absl::OkStatus();
  }

  static SentencePair Tokenize(const Tokenizers& tokenizers,
                               absl::string_view source,
                               absl::string_view target) {
    const auto tokens = [&](const auto& model, absl::string_view text) {
      return model == nullptr ? PrepareWords(text, tokenizers.rules)
                              : model->Tokenize(text);
    };
    return {tokens(tokenizers.source, source),
            tokens(tokenizers.target, target),
            {}};
  }

  // Adds the digests and the note, after all pairs of `files` have been read.
  // Returns an error if there is no pair.
  static absl::Status Finish(const PairReader& reader, const std::string& field,
                             const PairFilesConfig& files, SentenceData& data) {
    if (reader.pairs() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          FirstFile(files), ":1:1: error: the file has no sentence pair"));
    }
    const char* const first = files.has_path() ? ".path" : ".source";
    REGARD_ASSIGN_OR_RETURN(data.digests[field + first], reader.FirstDigest());
    if (!files.has_path()) {
      REGARD_ASSIGN_OR_RETURN(data.digests[field + ".target"],
                              reader.SecondDigest());
    }
    AddNote(reader, field, data);
    return absl::OkStatus();
  }

  static void AddNote(const PairReader& reader, const std::string& field,
                      SentenceData& data) {
    TextCleanupCounts counts = reader.counts();
    // Subword models have their own rules for white space.
    if (data.tokenizers.target != nullptr) counts.separators = 0;
    const std::string note = counts.Note(field);
    if (!note.empty()) data.notes.push_back(note);
  }

  static const std::string& FirstFile(const PairFilesConfig& files) {
    return files.has_path() ? files.path() : files.source();
  }

  // Reads the models that the user gave or that the run stored. If there are
  // none, trains them.
  absl::Status LoadSubwords(const DataRequest& request,
                            const std::set<int64_t>& held_out,
                            SentenceData& data) const {
    for (const SubwordModel& model : Models()) {
      const std::string& given = model.source
                                     ? options_.subwords().source_model()
                                     : options_.subwords().target_model();
      std::string bytes;
      if (given.empty()) {
        REGARD_ASSIGN_OR_RETURN(
            bytes, request.read_run_file != nullptr
                       ? request.read_run_file(model.name)
                       : TrainModel(held_out, model, request.text_version));
      } else {
        absl::StatusOr<std::string> read =
            ReadFile(ResolveUserPath(given), kMaxModelBytes);
        if (!read.ok()) return SubwordError(read.status());
        bytes = *std::move(read);
        data.digests[absl::StrCat("data.pairs.subwords.", model.field)] =
            Sha256Hex(bytes);
      }
      data.digests[model.name] = Sha256Hex(bytes);
      data.files[model.name] = bytes;
      REGARD_RETURN_IF_ERROR(AddModel(
          model, bytes, given.empty() ? model.name : given, data.tokenizers));
    }
    data.source_vocabulary = data.tokenizers.source->MakeVocabulary();
    data.target_vocabulary = data.tokenizers.target->MakeVocabulary();
    return absl::OkStatus();
  }

  // Returns the sampler, or null if the config requests none. Checks that the
  // models support sampling. The validation of the config cannot check this,
  // because the kind of a given model is known only after the model is read.
  absl::StatusOr<std::shared_ptr<SubwordSampler>> MakeSampler(
      uint64_t seed, const Tokenizers& models) const {
    if (!options_.subwords().has_sampling()) return nullptr;
    const SubwordSamplingConfig& config = options_.subwords().sampling();
    for (const auto& model : {models.source, models.target}) {
      if (!model->is_bpe() && !model->is_unigram()) {
        return SubwordError(absl::InvalidArgumentError(
            "sampling: applies only to BPE and unigram models; a character "
            "model has only one segmentation"));
      }
      if (config.nbest_size() != SubwordSamplingConfig().nbest_size() &&
          !model->is_unigram()) {
        return SubwordError(
            absl::InvalidArgumentError("sampling.nbest_size: applies only to "
                                       "unigram models; this model is BPE"));
      }
    }
    return std::make_shared<SubwordSampler>(models.source, models.target,
                                            options_, seed);
  }

  // Trains a model on the training lines that are not held out: first the
  // source lines, then the target lines.
  absl::StatusOr<std::string> TrainModel(const std::set<int64_t>& held_out,
                                         const SubwordModel& model,
                                         int text_version) const {
    std::string sentences;
    for (const bool is_source : {true, false}) {
      if (!(is_source ? model.source : model.target)) continue;
      const auto add = [&](const PairReader& pair) {
        if (held_out.count(pair.pairs()) > 0) return;
        absl::StrAppend(&sentences, is_source ? pair.source() : pair.target(),
                        "\n");
      };
      REGARD_RETURN_IF_ERROR(
          ReadPairs(options_.train(), options_.max_pairs(), text_version, add)
              .status());
    }
    absl::StatusOr<std::string> trained =
        TrainSubwords(options_.subwords(), sentences);
    if (!trained.ok()) return SubwordError(trained.status());
    return trained;
  }

  Fate FateOf(const SentencePair& pair) const {
    const auto [shorter, longer] =
        std::minmax<double>({static_cast<double>(pair.source.size()),
                             static_cast<double>(pair.target.size())});
    if (shorter == 0) return kEmpty;
    if (pair.source == pair.target) return kCopy;
    if (options_.max_tokens() > 0 && longer > options_.max_tokens()) {
      return kTooLong;
    }
    if (options_.max_ratio() > 0 && longer > options_.max_ratio() * shorter) {
      return kUneven;
    }
    return kKept;
  }

  // Loads the training split. `sampler` may be null.
  absl::Status LoadTrain(const std::set<int64_t>& held_out,
                         SubwordSampler* sampler, SentenceData& data) const {
    FateCounts counts = {};
    const auto add = [&](const PairReader& pair) {
      if (held_out.count(pair.pairs()) > 0) {
        return AddPair(pair, data, data.dev);
      }
      const SentencePair tokens =
          Tokenize(data.tokenizers, pair.source(), pair.target());
      const Fate fate = FateOf(tokens);
      ++counts[fate];
      if (fate != kKept) return;
      data.train.Add(tokens.source, tokens.target);
      if (sampler != nullptr) sampler->Add(pair.source(), pair.target());
    };
    REGARD_ASSIGN_OR_RETURN(const PairReader reader,
                            ReadPairs(options_.train(), options_.max_pairs(),
                                      data.tokenizers.rules.version, add));
    const std::string omissions = OmissionsText(counts);
    if (!omissions.empty()) data.notes.push_back(omissions);
    REGARD_RETURN_IF_ERROR(
        Finish(reader, "data.pairs.train", options_.train(), data));
    if (data.train.size() > 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(FirstFile(options_.train()),
                     ":1:1: error: nothing is left to train on: ", omissions));
  }

  // Draws the pairs of `train` that become the dev split, without repetition.
  // Returns their 1-based numbers.
  absl::StatusOr<std::set<int64_t>> HeldOut(uint64_t seed,
                                            int text_version) const {
    std::set<int64_t> held_out;
    if (options_.dev_sample() == 0) return held_out;
    REGARD_ASSIGN_OR_RETURN(const PairReader reader,
                            ReadPairs(options_.train(), options_.max_pairs(),
                                      text_version, [](const PairReader&) {}));
    const int64_t pairs = reader.pairs();
    if (options_.dev_sample() >= pairs) {
      return absl::InvalidArgumentError(
          absl::StrCat("error: data.pairs.dev_sample: ", pairs,
                       " pairs leave nothing to train on when ",
                       options_.dev_sample(), " are held out for dev"));
    }
    const RandomStream stream(seed, "dev_sample");
    for (uint64_t i = 0;
         static_cast<int64_t>(held_out.size()) < options_.dev_sample(); ++i) {
      held_out.insert(1 + static_cast<int64_t>(stream.UniformIntAt(
                              i, static_cast<uint64_t>(pairs))));
    }
    return held_out;
  }

  static void AddPair(const PairReader& pair, const SentenceData& data,
                      EvaluationSet& set) {
    set.pairs.push_back(
        Tokenize(data.tokenizers, pair.source(), pair.target()));
    if (data.tokenizers.target != nullptr) {
      set.references.emplace_back(pair.target());
    }
  }

  // Loads a dev or test split, and keeps every line.
  static absl::Status LoadSet(const std::string& field,
                              const PairFilesConfig& files, SentenceData& data,
                              EvaluationSet& set) {
    REGARD_ASSIGN_OR_RETURN(
        const PairReader reader,
        ReadPairs(files, /*most=*/0, data.tokenizers.rules.version,
                  [&](const PairReader& pair) { AddPair(pair, data, set); }));
    return Finish(reader, field, files, data);
  }
};

}  // namespace

REGARD_DATA_SOURCES(PairsSource) {
  sources.Add<PairsSource>("sentence pairs from text files");
}

}  // namespace regard
