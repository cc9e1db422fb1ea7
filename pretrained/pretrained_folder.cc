#include "pretrained/pretrained_folder.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "data/images/image_set.h"
#include "data/text/text_splits.h"
#include "data/text/token_vocabulary.h"
#include "data/text/wordpiece_config.h"
#include "files/file.h"
#include "files/json_file.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "language/bert.pb.h"
#include "language/bert_model.h"
#include "language/masked_text.h"
#include "language/text_classifier.pb.h"
#include "language/text_embedder.h"
#include "language/text_embedder.pb.h"
#include "language/text_model.h"
#include "language/text_vocabulary.h"
#include "pretrained/bert_folder.h"
#include "pretrained/bert_format.h"
#include "pretrained/blip_folder.h"
#include "pretrained/gpt2_folder.h"
#include "pretrained/vit_folder.h"
#include "third_party/abseil_backport/status_macros.h"
#include "vision/caption_model.h"
#include "vision/captioner.pb.h"
#include "vision/image_classifier.h"

namespace regard {

namespace {

constexpr char kAllIsTest[] = "dev_fraction: 0 test_fraction: 1\n";

std::string TextOf(const google::protobuf::Message& message) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(message, &text);
  return text;
}

// Returns the text of a message whose field `path`, such as "model.captioner",
// contains `inner`.
std::string Wrapped(absl::string_view path, absl::string_view inner) {
  const std::pair<absl::string_view, absl::string_view> names =
      absl::StrSplit(path, absl::MaxSplits('.', 1));
  return absl::StrCat(names.first, " { ", names.second, " {\n", inner, "} }\n");
}

// Returns the BERT config of a text classifier or of a model that predicts
// masked words. The config also describes the tokenizer.
absl::StatusOr<BertConfig> BertWithTokens(const BertFolder& folder) {
  BertConfig config = folder.description.config;
  MaskedWordsConfig& tokens = *config.mutable_masked_words();
  tokens.set_vocabulary(folder.vocabulary_file);
  tokens.set_lower_case(folder.options.lower_case);
  tokens.set_block(static_cast<int32_t>(folder.longest));
  tokens.set_next_sentence(folder.description.head ==
                           BertHead::kWordsAndFollows);
  const auto options_of = [](WordPieceOptions options) {
    // If strip_accents is not set, it has the value of lower_case.
    options.strip_accents = options.strip_accents.value_or(options.lower_case);
    return ToTokenConfig(options);
  };
  const WordPieceConfig said = options_of(TokenOptions(tokens));
  const WordPieceConfig wanted = options_of(folder.options);
  if (said.SerializeAsString() == wanted.SerializeAsString()) return config;
  return absl::InvalidArgumentError(
      absl::StrCat(folder.path,
                   ": error: the only tokenizer option of this model is "
                   "lower_case, but the folder requires ",
                   wanted.ShortDebugString()));
}

// Returns the configs of the three models that can start from a BERT: for
// masked words, for text classification, and for sentence embeddings.
std::map<std::string, absl::StatusOr<std::string>> BertParts(
    const BertFolder& folder) {
  TextEmbedderConfig embedder;
  *embedder.mutable_bert() = folder.description.config;
  *embedder.mutable_tokens() = ToTokenConfig(folder.options);
  embedder.mutable_tokens()->set_vocabulary(folder.vocabulary_file);
  embedder.set_longest(static_cast<int32_t>(folder.longest));
  embedder.set_pooling(folder.vectors.pooling);
  embedder.set_normalize(folder.vectors.normalize);
  std::map<std::string, absl::StatusOr<std::string>> parts;
  parts["model.text_embedder"] = TextOf(embedder);
  const absl::StatusOr<BertConfig> bert = BertWithTokens(folder);
  if (!bert.ok()) {
    parts["model.bert"] = parts["model.text_classifier"] = bert.status();
    return parts;
  }
  TextClassifierConfig classifier;
  *classifier.mutable_bert() = *bert;
  if (!folder.description.classes.empty()) {
    classifier.set_pooling(TextClassifierConfig::POOLER);
    classifier.set_dropout(folder.description.classifier_dropout);
  }
  parts["model.bert"] = TextOf(*bert);
  parts["model.text_classifier"] = TextOf(classifier);
  return parts;
}

// The kinds of data and model of a folder, indexed by BertHead.
constexpr std::pair<const char*, const char*> kKinds[] = {
    {"data.scored_pairs", "model.text_embedder"},
    {"data.labelled_text", "model.text_classifier"},
    {"data.labelled_text", "model.text_classifier"},
    {"data.text", "model.bert"},
    {"data.text", "model.bert"}};
static_assert(std::size(kKinds) == kBertHeads);

// Returns the part of the folder's head that a model with these parameters has.
BertHead HeadIn(BertHead head, const ParameterStore<float>& parameters) {
  const auto has = [&](const char* name) {
    return parameters.FindByName(name).has_value();
  };
  if (HasClasses(head)) {
    return has("classifier.weight") ? head : BertHead::kNone;
  }
  if (!PredictsWords(head) || !has("masked_words.weight")) {
    return BertHead::kNone;
  }
  return has("next_sentence.weight") ? head : BertHead::kWords;
}

// Reads a BERT. A classifier with other classes loads only the encoder, because
// the weights of a head belong to its classes.
absl::StatusOr<PretrainedRun> ReadBert(const std::string& path,
                                       const AttentionRegistry& scorers) {
  REGARD_ASSIGN_OR_RETURN(BertFolder opened, OpenBertFolder(path, scorers));
  const auto folder = std::make_shared<const BertFolder>(std::move(opened));
  const std::vector<std::string>& classes = folder->description.classes;
  std::map<std::string, absl::StatusOr<std::string>> parts = BertParts(*folder);
  BertHead head = folder->description.head;
  // If model.bert cannot express the folder's settings, the folder can still
  // compute sentence embeddings.
  if (PredictsWords(head) && !parts["model.bert"].ok()) head = BertHead::kNone;
  const auto [data, model] = kKinds[static_cast<size_t>(head)];
  REGARD_ASSIGN_OR_RETURN(const std::string part, parts[model]);
  std::map<std::string, std::string> files = {
      {kVocabularyFile, folder->pieces->ToText()}};
  if (!classes.empty()) {
    files[kLabelsFile] = absl::StrCat(absl::StrJoin(classes, "\n"), "\n");
  }
  const std::string& lower_case = folder->lower_case_file;
  return PretrainedRun{
      .config = absl::StrCat(Wrapped(data, kAllIsTest), Wrapped(model, part)),
      .parts = std::move(parts),
      .model = model,
      .fixed = {{"model.bert.masked_words.lower_case", lower_case},
                {"model.text_classifier.bert.masked_words.lower_case",
                 lower_case},
                {"model.text_embedder.tokens.lower_case", lower_case}},
      .notes = folder->notes,
      .files = std::move(files),
      .load_weights =
          [folder](ParameterStore<float>& parameters,
                   std::vector<std::string>* kept) {
            const BertHead head = HeadIn(folder->description.head, parameters);
            return folder->LoadWeights(head, parameters, kept);
          },
      .task_file = kLabelsFile,
      .load_for_task =
          [folder](absl::string_view, ParameterStore<float>& parameters,
                   std::vector<std::string>* kept) {
            return folder->LoadWeights(BertHead::kNone, parameters, kept);
          }};
}

// Reads a language model. All data of the run is test data.
absl::StatusOr<PretrainedRun> ReadGpt2(const std::string& path,
                                       const AttentionRegistry& scorers) {
  REGARD_ASSIGN_OR_RETURN(Gpt2Folder opened, OpenGpt2Folder(path, scorers));
  const auto folder = std::make_shared<const Gpt2Folder>(std::move(opened));
  constexpr char kModel[] = "model.language_model";
  const std::string text = TextOf(folder->config);
  return PretrainedRun{
      .config = Wrapped("data.text", kAllIsTest) + Wrapped(kModel, text),
      .parts = {{kModel, text}},
      .model = kModel,
      .files = {{kBytePairsFile, folder->pairs->ToText()}},
      .load_weights = [folder](ParameterStore<float>& parameters,
                               std::vector<std::string>* kept) {
        return folder->LoadWeights(parameters, kept);
      }};
}

// Reads a captioner. All images are test data. Captions have at most 20 tokens
// after the default prompt, with which BLIP was trained.
absl::StatusOr<PretrainedRun> ReadBlip(const std::string& path,
                                       const AttentionRegistry& scorers) {
  REGARD_ASSIGN_OR_RETURN(BlipFolder opened, OpenBlipFolder(path, scorers));
  const auto folder = std::make_shared<const BlipFolder>(std::move(opened));
  constexpr char kModel[] = "model.captioner";
  constexpr char kData[] = "data.captions";
  CaptionerConfig config = folder->description.config;
  config.mutable_tokens()->set_vocabulary(folder->tokenizer.vocabulary_file);
  const std::string model = TextOf(config);
  const std::string data =
      absl::StrCat("format {\n", TextOf(folder->description.images), "}\n");
  return PretrainedRun{
      .config = absl::StrCat(
          Wrapped(kData, absl::StrCat("list: '' ", kAllIsTest, data)),
          Wrapped(kModel, model),
          "search { max_length_ratio: 0 max_length: 21 }\n"),
      .parts = {{kModel, model}, {kData, data}},
      .model = kModel,
      .fixed = {{"model.captioner.tokens.lower_case",
                 folder->tokenizer.lower_case_file}},
      .files = {{kVocabularyFile, folder->tokenizer.pieces->ToText()}},
      .load_weights = [folder](ParameterStore<float>& parameters,
                               std::vector<std::string>* kept) {
        return folder->LoadWeights(parameters, kept);
      }};
}

// Reads an image classifier. All images are test data.
absl::StatusOr<PretrainedRun> ReadVit(const std::string& path, VitNames names,
                                      const AttentionRegistry& scorers) {
  REGARD_ASSIGN_OR_RETURN(VitFolder opened,
                          OpenVitFolder(path, names, scorers));
  const auto folder = std::make_shared<const VitFolder>(std::move(opened));
  const VitDescription& description = folder->description;
  constexpr char kModel[] = "model.vision_transformer";
  constexpr char kData[] = "data.images";
  const std::string model = TextOf(description.config);
  const std::string data =
      absl::StrCat("format {\n", TextOf(description.format), "}\n");
  return PretrainedRun{
      .config = Wrapped(kData, absl::StrCat(kAllIsTest, data)) +
                Wrapped(kModel, model),
      .parts = {{kModel, model}, {kData, data}},
      .model = kModel,
      .files = {{kClassesFile,
                 absl::StrCat(absl::StrJoin(description.classes, "\n"), "\n")}},
      .load_weights =
          [folder](ParameterStore<float>& parameters,
                   std::vector<std::string>* kept) {
            return folder->LoadWeights(parameters, kept);
          },
      .task_file = kClassesFile,
      .load_for_task =
          [folder](absl::string_view text, ParameterStore<float>& parameters,
                   std::vector<std::string>* kept) {
            absl::ConsumeSuffix(&text, "\n");
            return folder->LoadWeightsForClasses(absl::StrSplit(text, '\n'),
                                                 parameters, kept);
          }};
}

absl::StatusOr<PretrainedRun> ReadTransformersVit(
    const std::string& path, const AttentionRegistry& scorers) {
  return ReadVit(path, VitNames::kTransformers, scorers);
}

constexpr struct {
  absl::string_view model_type;  // field of config.json
  absl::StatusOr<PretrainedRun> (*read)(const std::string& path,
                                        const AttentionRegistry& scorers);
} kArchitectures[] = {
    {"bert", &ReadBert},
    {"blip", &ReadBlip},
    {"gpt2", &ReadGpt2},
    {"vit", &ReadTransformersVit},
};

std::string ConfigOf(const std::string& folder) {
  return JoinPath(folder, "config.json");
}

}  // namespace

absl::StatusOr<std::string> PretrainedRun::BaseConfig(
    absl::string_view data, absl::string_view model) const {
  const std::string path =
      model.empty() ? this->model : absl::StrCat("model.", model);
  const auto found = parts.find(path);
  if (found == parts.end()) {
    std::vector<absl::string_view> known;
    for (const auto& [part, text] : parts) {
      if (absl::StartsWith(part, "model.")) known.push_back(part);
    }
    return absl::InvalidArgumentError(absl::StrCat("has no weights for ", path,
                                                   ", only for ",
                                                   absl::StrJoin(known, ", ")));
  }
  REGARD_RETURN_IF_ERROR(found->second.status());
  std::string text = Wrapped(path, *found->second);
  if (const auto part = parts.find(absl::StrCat("data.", data));
      part != parts.end()) {
    REGARD_RETURN_IF_ERROR(part->second.status());
    text += Wrapped(part->first, *part->second);
  }
  return text;
}

bool ContainsPretrainedModel(const std::string& folder) {
  return PathExists(ConfigOf(folder)) &&
         !PathExists(JoinPath(folder, "run.json")) &&
         !PathExists(JoinPath(folder, "resolved.textproto"));
}

absl::StatusOr<PretrainedRun> ReadPretrainedRun(
    const std::string& folder, const AttentionRegistry& scorers) {
  REGARD_ASSIGN_OR_RETURN(JsonFile file, JsonFile::Read(ConfigOf(folder)));
  if (!file.root().Has("model_type") && file.root().Has("architecture")) {
    return ReadVit(folder, VitNames::kTimm, scorers);
  }
  std::vector<absl::string_view> known;
  for (const auto& architecture : kArchitectures) {
    known.push_back(architecture.model_type);
  }
  // Old BERT folders have no model_type, so BERT is the default.
  const size_t type = file.root().Choice("model_type", known, 0);
  REGARD_RETURN_IF_ERROR(file.status());
  return kArchitectures[type].read(folder, scorers);
}

absl::Status WritePretrainedFolder(const Model<float>& model,
                                   const std::string& folder,
                                   FileOperations& files) {
  if (PathExists(folder)) {
    // Other programs could mistake existing files for parts of the model.
    REGARD_ASSIGN_OR_RETURN(const std::vector<std::string> there,
                            ListDirectory(folder, files));
    if (!there.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(folder, ": error: must be a new or empty folder"));
    }
  }
  if (const auto* bert = dynamic_cast<const BertBasedModel*>(&model)) {
    return WriteBertFolder(*bert, folder, files);
  }
  if (const auto* captioner = dynamic_cast<const CaptionModel*>(&model)) {
    return WriteBlipFolder(*captioner, folder, files);
  }
  if (const auto* text = dynamic_cast<const TrainableLanguageModel*>(&model)) {
    return WriteGpt2Folder(text->config(), text->language_model(), folder,
                           files);
  }
  if (const auto* vit = dynamic_cast<const ImageClassifier*>(&model)) {
    return WriteVitFolder(*vit, folder, files);
  }
  return absl::InvalidArgumentError(
      "error: this model cannot be written as a Hugging Face model folder; "
      "only BERT models, language models, Vision Transformers and captioners "
      "can be");
}

}  // namespace regard
