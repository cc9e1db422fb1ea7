#include "tools/testing/fuzz/readers.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "attention/formula/compiler.h"
#include "attention/formula/node.h"
#include "data/corpus.h"
#include "data/images/exif.h"
#include "data/images/idx.h"
#include "data/images/image_file.h"
#include "data/images/image_format.pb.h"
#include "data/images/image_list.h"
#include "data/pairs/pairs.pb.h"
#include "data/table.pb.h"
#include "data/table_source.h"
#include "data/text/byte_pairs.h"
#include "data/text/labelled_text.pb.h"
#include "data/text/labelled_text_source.h"
#include "data/text/prepared_text.h"
#include "data/text/scored_pairs.pb.h"
#include "data/text/scored_pairs_source.h"
#include "data/text/sentencepiece_model.h"
#include "data/text/text.pb.h"
#include "data/text/text_source.h"
#include "data/text/vocabulary.h"
#include "data/text/wordpiece.h"
#include "experiments/experiment.pb.h"
#include "experiments/run/checkpoint.h"
#include "experiments/run/environment.h"
#include "experiments/run/examples_file.h"
#include "experiments/run/metric.h"
#include "experiments/run/metrics_log.h"
#include "experiments/run/run_folder.h"
#include "experiments/run/status.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/plugins.h"
#include "files/gzip.h"
#include "files/json_file.h"
#include "files/safetensors.h"
#include "files/utf8.h"
#include "language/language_model.pb.h"
#include "language/text_vocabulary.h"
#include "options/reader.h"
#include "options/resolved.h"
#include "pretrained/bert_format.h"
#include "pretrained/image_processor.h"
#include "pretrained/pretrained_folder.h"
#include "pretrained/tensor_folder.h"
#include "third_party/abseil_backport/check.h"
#include "tools/attention_inputs.h"
#include "tools/testing/fuzz/input_folder.h"

namespace regard {

namespace {

constexpr char kName[] = "input";

void CheckMessage(const absl::Status& status) {
  if (status.ok()) return;
  REGARD_CHECK(!status.message().empty());
  REGARD_CHECK(!FindInvalidUtf8(status.message()).has_value());
}

void ReadConfigText(const std::string& bytes) {
  static const Plugins& plugins = *new Plugins(BuiltInPlugins());
  CheckMessage(LoadConfig({kName, bytes}, {}, plugins).status());
}

void ReadOverride(const std::string& bytes) {
  Experiment config;
  CheckMessage(ReadConfig({kName, "seed: 1"}, {bytes}, &config).status());
}

void ReadResolvedConfig(const std::string& bytes) {
  CheckMessage(ParseResolvedFields(bytes).status());
}

void ReadFormula(const std::string& bytes) {
  FormulaGraph formula;
  const std::optional<FormulaProblem> problem =
      CompileFormula(bytes, {.query = 3, .key = 3, .free = 2}, {}, &formula);
  if (problem.has_value()) REGARD_CHECK_LE(problem->range.begin, bytes.size());
}

void ReadCorpus(const std::string& bytes) {
  PairFilesConfig files;
  files.set_path(WriteInput("corpus.tsv", bytes));
  absl::StatusOr<PairReader> reader =
      PairReader::Open(files, /*most=*/0, /*text_version=*/1);
  while (reader.ok()) {
    const absl::StatusOr<bool> more = reader->Next();
    CheckMessage(more.status());
    if (!more.ok() || !*more) return;
    PrepareWords(reader->source(), {});
  }
  CheckMessage(reader.status());
}

void ReadLabels(const std::string& bytes) {
  CheckMessage(
      ReadLabelledText(WriteInput("labelled.tsv", bytes), LabelledTextConfig())
          .status());
}

void ReadScores(const std::string& bytes) {
  CheckMessage(
      ReadScoredPairs(WriteInput("scored.tsv", bytes), ScoredPairsConfig())
          .status());
}

void ReadPoints(const std::string& bytes) {
  CheckMessage(
      ReadTable(WriteInput("table.csv", bytes), TableConfig(), /*seed=*/1)
          .status());
}

void ReadText(const std::string& bytes) {
  CheckMessage(
      ReadTextFile(WriteInput("text.txt", bytes), TextConfig()).status());
}

void ReadVocabulary(const std::string& bytes) {
  CheckMessage(Vocabulary::Parse(bytes, kName).status());
  for (const auto unit :
       {LanguageModelConfig::CHARACTERS, LanguageModelConfig::WORDS}) {
    LanguageModelConfig config;
    config.set_unit(unit);
    CheckMessage(TextVocabulary::Parse(bytes, kName, config).status());
  }
}

void ReadWordPiece(const std::string& bytes) {
  WordPieceOptions options;
  options.lower_case = true;
  CheckMessage(WordPiece::Parse(bytes, kName, options).status());
  static const WordPiece& pieces =
      *new WordPiece(WordPiece::Parse("[UNK]\n[CLS]\n[SEP]\na\n##b\n\xC3\xA9\n",
                                      kName, options)
                         .value());
  pieces.Encode(bytes, /*longest=*/64);
}

void ReadSentencepiece(const std::string& bytes) {
  const absl::StatusOr<SentencepieceModel> model =
      SentencepieceModel::Parse(bytes, kName);
  CheckMessage(model.status());
  if (model.ok()) model->Detokenize(model->Tokenize("a quiet red house"));
}

void ReadJson(const std::string& bytes) {
  CheckMessage(JsonFile::Parse(bytes, kName).status());
}

void ReadSafetensors(const std::string& bytes) {
  const absl::StatusOr<SafetensorsReader> reader =
      SafetensorsReader::Open(WriteInput("weights.safetensors", bytes));
  CheckMessage(reader.status());
  if (!reader.ok()) return;
  for (const auto& [name, info] : reader->header().tensors) {
    CheckMessage(reader->ReadNumbers(name).status());
  }
}

void ReadCheckpoint(const std::string& bytes) {
  for (const char* name : {kWeightsFile, kOptimizerFile, kStateFile}) {
    WriteInput(absl::StrCat("run/checkpoints/step-7/", name), "");
  }
  WriteInput(absl::StrCat("run/checkpoints/step-7/", kManifestFile), bytes);
  CheckMessage(FindCheckpoints(absl::StrCat(InputFolder(), "/run")).status());
}

void ReadCheckpointFolder(const std::string& bytes) {
  WriteInput("elsewhere/checkpoints.json", bytes);
  const std::string folder = absl::StrCat(InputFolder(), "/elsewhere");
  CheckMessage(ReadCheckpointFolderLink(folder).status());
  CheckMessage(CheckpointFolder(folder).status());
}

void ReadRun(const std::string& bytes) {
  WriteInput("described/run.json", bytes);
  CheckMessage(
      ReadRunDescription(absl::StrCat(InputFolder(), "/described")).status());
}

void ReadEnvironment(const std::string& bytes) {
  WriteInput("built/environment.json", bytes);
  CheckMessage(ReadRunDigests(absl::StrCat(InputFolder(), "/built")).status());
}

void ReadRunStatus(const std::string& bytes) {
  CheckMessage(ReadStatus(WriteInput("status.json", bytes)).status());
}

void ReadMetrics(const std::string& bytes) {
  CheckMessage(ReadMetricsLog(WriteInput("metrics.jsonl", bytes)).status());
}

void ReadExampleLines(const std::string& bytes) {
  const Aggregates aggregates = {{kRatio.name, &kRatio}};
  CheckMessage(
      ReadExamples(WriteInput("examples.jsonl", bytes), aggregates).status());
}

void ReadIdx(const std::string& bytes) {
  CheckMessage(Gunzip(bytes, kName, /*limit=*/1 << 16).status());
  // The first byte determines where the other bytes are split into two inputs.
  if (bytes.empty()) return;
  const size_t cut = static_cast<uint8_t>(bytes[0]) % bytes.size();
  CheckMessage(ParseLabelledImages(bytes.substr(1, cut), kName,
                                   bytes.substr(1 + cut), kName, 10)
                   .status());
}

void ReadPicture(const std::string& bytes) {
  for (const int64_t channels : {1, 3}) {
    CheckMessage(DecodeImage(bytes, channels).status());
  }
}

void ReadExif(const std::string& bytes) {
  const int orientation = ExifOrientation(bytes);
  REGARD_CHECK(orientation >= 1 && orientation <= 8);
}

void ReadList(const std::string& bytes) {
  CheckMessage(ReadImageList({.path = WriteInput("images.tsv", bytes),
                              .what = "images",
                              .folder = InputFolder(),
                              .root = "",
                              .root_field = "root"},
                             [](const ListedImagePath&, absl::string_view) {
                               return absl::OkStatus();
                             })
                   .status());
}

void ReadAttention(const std::string& bytes) {
  CheckMessage(ReadAttentionInputs(WriteInput("arrays.json", bytes)).status());
}

// Reads the bytes as config.json of a folder that has both kinds of tokenizers.
void ReadPretrained(const std::string& bytes) {
  static const Plugins& plugins = *new Plugins(BuiltInPlugins());
  WriteInput("pretrained/vocab.txt", "[UNK]\n[CLS]\n[SEP]\n[PAD]\na\n");
  WriteInput("pretrained/vocab.json", R"({"a": 0, "b": 1, "ab": 2})");
  WriteInput("pretrained/merges.txt", "a b\n");
  WriteInput("pretrained/config.json", bytes);
  CheckMessage(ReadPretrainedRun(absl::StrCat(InputFolder(), "/pretrained"),
                                 plugins.scorers)
                   .status());
}

void ReadImageProcessing(const std::string& bytes) {
  ImageFormat format;
  format.set_height(12);
  format.set_width(12);
  WriteInput("images/preprocessor_config.json", bytes);
  CheckMessage(
      ReadImageProcessor(absl::StrCat(InputFolder(), "/images"), format)
          .status());
}

void ReadTensorIndex(const std::string& bytes) {
  WriteInput("tensors/model.safetensors.index.json", bytes);
  CheckMessage(
      TensorFolder::Open(absl::StrCat(InputFolder(), "/tensors")).status());
}

void ReadPairs(const std::string& bytes) {
  const absl::StatusOr<BytePairs> pairs = BytePairs::Parse(bytes, kName);
  CheckMessage(pairs.status());
  if (!pairs.ok()) return;
  std::string text;
  for (const int32_t id : pairs->Encode(bytes)) pairs->AppendBytes(id, &text);
}

void ReadMerges(const std::string& bytes) {
  WriteInput("merges/vocab.json", R"({"a": 0, "b": 1, "ab": 2})");
  WriteInput("merges/merges.txt", bytes);
  CheckMessage(ReadBytePairs(absl::StrCat(InputFolder(), "/merges")).status());
}

void ReadTokenizer(const std::string& bytes) {
  const std::string folder = absl::StrCat(InputFolder(), "/tokenizer");
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
    WriteInput(absl::StrCat("tokenizer/", name), bytes);
  }
  CheckMessage(ReadTokenizerFiles(folder).status());
  for (const char* name :
       {"sentence_bert_config.json", "1_Pooling/config.json"}) {
    WriteInput(absl::StrCat("tokenizer/", name), bytes);
  }
  CheckMessage(ReadSentenceFiles(folder, /*lower_case=*/true).status());
}

constexpr FuzzedReader kReaders[] = {
    {"attention_arrays", &ReadAttention},
    {"byte_pairs", &ReadPairs},
    {"checkpoint", &ReadCheckpoint},
    {"checkpoint_record", &ReadCheckpointFolder},
    {"config", &ReadConfigText},
    {"corpus", &ReadCorpus},
    {"environment", &ReadEnvironment},
    {"examples", &ReadExampleLines},
    {"exif", &ReadExif},
    {"formula", &ReadFormula},
    {"idx", &ReadIdx},
    {"image", &ReadPicture},
    {"image_list", &ReadList},
    {"image_processor", &ReadImageProcessing},
    {"json", &ReadJson},
    {"labelled_text", &ReadLabels},
    {"merges", &ReadMerges},
    {"metrics", &ReadMetrics},
    {"override", &ReadOverride},
    {"pretrained_config", &ReadPretrained},
    {"resolved_config", &ReadResolvedConfig},
    {"run_description", &ReadRun},
    {"safetensors", &ReadSafetensors},
    {"scored_pairs", &ReadScores},
    {"sentencepiece", &ReadSentencepiece},
    {"status", &ReadRunStatus},
    {"table", &ReadPoints},
    {"tensor_index", &ReadTensorIndex},
    {"text", &ReadText},
    {"tokenizer", &ReadTokenizer},
    {"vocabulary", &ReadVocabulary},
    {"wordpiece", &ReadWordPiece},
};

}  // namespace

absl::Span<const FuzzedReader> FuzzedReaders() { return kReaders; }

const FuzzedReader* FindReader(absl::string_view name) {
  for (const FuzzedReader& reader : kReaders) {
    if (reader.name == name) return &reader;
  }
  return nullptr;
}

}  // namespace regard
