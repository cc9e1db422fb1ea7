// Reads and writes the files of a BERT folder other than config.json: the files
// of the tokenizer and the files of sentence-transformers.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "data/text/added_tokens.h"
#include "data/text/token_vocabulary.h"
#include "data/text/wordpiece.h"
#include "files/file.h"
#include "files/json_file.h"
#include "language/text_embedder.pb.h"
#include "nlohmann/json.hpp"
#include "pretrained/bert_format.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr char kSpecialTokens[] = "special_tokens_map.json";
constexpr char kAddedTokens[] = "added_tokens.json";

constexpr std::pair<const char*, std::string WordPieceOptions::*> kTokens[] = {
    {"unk_token", &WordPieceOptions::unknown},
    {"cls_token", &WordPieceOptions::classifier},
    {"sep_token", &WordPieceOptions::separator},
    {"pad_token", &WordPieceOptions::padding},
    {"mask_token", &WordPieceOptions::mask}};

std::string ConfigIn(absl::string_view folder) {
  return JoinPath(folder, "config.json");
}

// Reads a file. Returns an object without fields if the file does not exist.
absl::StatusOr<JsonFile> ReadIfThere(const std::string& path) {
  if (!PathExists(path)) return JsonFile::Parse("{}", path);
  return JsonFile::Read(path);
}

constexpr char kTokenizerClass[] = "tokenizer_class";

// The tokenizer classes of transformers that split texts as BERT does. Each
// also exists with the suffix "Fast".
constexpr absl::string_view kBertTokenizers[] = {
    "BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer",
    "MobileBertTokenizer"};

// Returns whether transformers reads all tokenizer settings from
// tokenizer.json. BERT tokenizers read only the tokens from this file. They
// read the other settings from tokenizer_config.json.
bool IsGeneric(const JsonObject& config) {
  if (!config.Has(kTokenizerClass)) return false;
  const std::string text = config.Text(kTokenizerClass);
  absl::string_view name = text;
  absl::ConsumeSuffix(&name, "Fast");
  return std::ranges::find(kBertTokenizers, name) == std::end(kBertTokenizers);
}

void ComplainOfClass(const JsonObject& config) {
  config.AddProblem(
      kTokenizerClass,
      absl::StrCat(kTokenizerClass, " must be one of ",
                   absl::StrJoin(kBertTokenizers, ", "), ", but is ",
                   absl::Utf8SafeCHexEscape(config.Text(kTokenizerClass)),
                   "; if it cuts texts as BERT does, add the ", kTokenizer,
                   " that transformers writes"));
}

// Reads a token, which is a string or an object with a string "content".
void ReadToken(const JsonObject& json, const std::string& key,
               std::string& token) {
  if (!json.Has(key)) return;
  if (!json.json()[key].is_object()) {
    token = json.Text(key);
  } else if (const auto added = json.Object(key); added->Has("content")) {
    token = added->Text("content");
  }
}

void AddToken(const JsonObject& json, std::vector<std::string>* added) {
  const AddedToken token = ReadAddedToken(json);
  added->push_back(token.text);
  if (token.normalized) {
    json.AddProblem(
        "normalized",
        "normalized must be false: added tokens are matched as they "
        "are spelled");
  }
}

// Reads the special tokens of tokenizer_config.json or special_tokens_map.json
// into `options`. Special tokens without a field in `options` are appended to
// `added`.
void ReadSpecialTokens(const JsonObject& json, WordPieceOptions& options,
                       std::vector<std::string>* added) {
  for (const auto& [key, token] : kTokens) {
    ReadToken(json, key, options.*token);
  }
  for (const char* key : {"bos_token", "eos_token"}) {
    std::string token;
    ReadToken(json, key, token);
    if (!token.empty()) added->push_back(std::move(token));
  }
  for (const char* key :
       {"additional_special_tokens", "extra_special_tokens"}) {
    if (!json.Has(key)) continue;
    // The value is a list of tokens, or an object whose values are tokens.
    for (const nlohmann::json& each : json.json()[key]) {
      const bool wrapped = each.is_object() && each.contains("content");
      const nlohmann::json& token = wrapped ? each["content"] : each;
      if (token.is_string()) {
        added->push_back(token.get<std::string>());
      } else {
        json.AddProblem(key, absl::StrCat(key, " must be a list of strings"));
      }
    }
  }
}

void ReadTokenizerJson(const JsonObject& json, bool generic,
                       TokenizerDescription* description,
                       std::vector<std::string>* added) {
  WordPieceOptions& options = description->options;
  if (const auto normalizer = json.Object("normalizer")) {
    normalizer->Choice("type", {"BertNormalizer"}, 0);
    options.clean_text = normalizer->Bool("clean_text", options.clean_text);
    options.split_chinese =
        normalizer->Bool("handle_chinese_chars", options.split_chinese);
    options.lower_case = normalizer->Bool("lowercase", options.lower_case);
    description->lower_case_file = kTokenizer;
    if (normalizer->Has("strip_accents")) {
      options.strip_accents = normalizer->Bool("strip_accents");
    }
  }
  if (json.Has("added_tokens")) {
    for (const JsonObject& each : json.Objects("added_tokens")) {
      AddToken(each, added);
    }
  }
  if (generic) json.Require("model");
  const auto model = json.Object("model");
  if (!model.has_value()) return;
  model->Choice("type", {"WordPiece"}, 0);
  options.longest_word = model->Integer(
      "max_input_chars_per_word", options.longest_word, 1, kMaxLongestWord);
  model->Choice("continuing_subword_prefix", {"##"}, 0);
  description->tokens = TokensOfTokenizer(json);
  if (!generic) return;
  const auto require = [&](const char* key,
                           absl::Span<const absl::string_view> types) {
    json.Require(key);
    if (const auto part = json.Object(key)) part->Choice("type", types);
  };
  json.Require("normalizer");
  require("pre_tokenizer", {"BertPreTokenizer"});
  // These processors add [CLS] before a text and [SEP] after it.
  require("post_processor", {"TemplateProcessing", "BertProcessing"});
}

void ReadTokenizerConfig(const JsonObject& json, bool generic,
                         TokenizerDescription* description,
                         std::vector<std::string>* added) {
  WordPieceOptions& options = description->options;
  const bool normalizes = !description->lower_case_file.empty();
  const auto needs = [&](const char* key, bool differs) {
    if (generic || !normalizes || !differs || json.Has(key)) return;
    json.AddProblem(key,
                    absl::StrCat(key,
                                 " must be set: without it, transformers uses "
                                 "its default instead of the normalizer of ",
                                 kTokenizer));
  };
  needs("do_lower_case", !options.lower_case);
  needs("tokenize_chinese_chars", !options.split_chinese);
  needs("strip_accents", options.strip_accents.value_or(options.lower_case) !=
                             options.lower_case);
  // If transformers uses the normalizer of tokenizer.json, the options must
  // match it.
  const bool fixed = generic && normalizes;
  const auto option = [&](const char* key, bool known) {
    const bool value = json.Bool(key, known);
    if (fixed && value != known) {
      json.AddProblem(
          key,
          absl::StrCat(key, " must match the normalizer of ", kTokenizer,
                       ", which transformers uses for this tokenizer_class"));
    }
    return value;
  };
  options.lower_case = option("do_lower_case", options.lower_case);
  if (json.Has("do_lower_case") ||
      (description->lower_case_file.empty() && !json.json().empty())) {
    description->lower_case_file = kTokenizerConfig;
  }
  options.split_chinese =
      option("tokenize_chinese_chars", options.split_chinese);
  if (json.Has("strip_accents")) {
    options.strip_accents = option(
        "strip_accents", options.strip_accents.value_or(options.lower_case));
  }
  json.Choice("truncation_side", {"right"}, 0);
  ReadSpecialTokens(json, options, added);
  if (const auto decoder = json.Object("added_tokens_decoder")) {
    for (const auto& [id, value] : decoder->json().items()) {
      const auto token = decoder->Object(id);
      if (token.has_value()) AddToken(*token, added);
    }
  }
  // Numbers above 1e9, such as 1e30, mean no limit.
  const double longest = json.Real("model_max_length", 0, 0, 1e31);
  if (longest >= 1 && longest <= 1e9) {
    description->longest = static_cast<int64_t>(longest);
  }
}

}  // namespace

absl::StatusOr<TokenizerDescription> ReadTokenizerFiles(
    const std::string& folder) {
  TokenizerDescription description;
  // The added tokens by file name.
  std::map<std::string, std::vector<std::string>> added;
  REGARD_ASSIGN_OR_RETURN(JsonFile config,
                          ReadIfThere(JoinPath(folder, kTokenizerConfig)));
  REGARD_ASSIGN_OR_RETURN(JsonFile tokenizer,
                          ReadIfThere(JoinPath(folder, kTokenizer)));
  // The class in config.json applies if tokenizer_config.json does not name
  // one. Other problems of config.json are reported when it is read as a model.
  absl::StatusOr<JsonFile> model = ReadIfThere(ConfigIn(folder));
  JsonFile& named =
      config.root().Has(kTokenizerClass) || !model.ok() ? config : *model;
  const bool generic = IsGeneric(named.root());
  if (generic && !PathExists(JoinPath(folder, kTokenizer))) {
    ComplainOfClass(named.root());
    REGARD_RETURN_IF_ERROR(named.status());
  }
  ReadTokenizerJson(tokenizer.root(), generic, &description,
                    &added[kTokenizer]);
  REGARD_RETURN_IF_ERROR(tokenizer.status());
  ReadTokenizerConfig(config.root(), generic, &description,
                      &added[kTokenizerConfig]);
  REGARD_RETURN_IF_ERROR(config.status());
  // If "added_tokens_decoder" exists, transformers ignores the files that only
  // its older versions wrote.
  if (!config.root().Has("added_tokens_decoder")) {
    REGARD_ASSIGN_OR_RETURN(JsonFile special,
                            ReadIfThere(JoinPath(folder, kSpecialTokens)));
    ReadSpecialTokens(special.root(), description.options,
                      &added[kSpecialTokens]);
    REGARD_RETURN_IF_ERROR(special.status());
    REGARD_ASSIGN_OR_RETURN(JsonFile ids,
                            ReadIfThere(JoinPath(folder, kAddedTokens)));
    for (const auto& [token, id] : ids.root().json().items()) {
      added[kAddedTokens].push_back(token);
    }
  }
  for (const auto& [file, tokens] : added) {
    for (const std::string& token : tokens) {
      if (std::ranges::any_of(kTokens, [&](const auto& special) {
            return description.options.*special.second == token;
          })) {
        continue;
      }
      return absl::InvalidArgumentError(
          absl::StrCat(JoinPath(folder, file), ": error: the added token '",
                       absl::Utf8SafeCHexEscape(token),
                       "' must be unk_token, cls_token, sep_token, pad_token "
                       "or mask_token"));
    }
  }
  return description;
}

std::string TokenizerConfigText(const WordPiece& pieces, int64_t longest) {
  const WordPieceOptions& options = pieces.options();
  nlohmann::ordered_json json;
  json["tokenizer_class"] = "BertTokenizer";
  json["do_lower_case"] = options.lower_case;
  json["strip_accents"] = nullptr;
  if (options.strip_accents) json["strip_accents"] = *options.strip_accents;
  json["tokenize_chinese_chars"] = options.split_chinese;
  for (const auto& [key, token] : kTokens) {
    // A token that the vocabulary lacks is written as null. Otherwise,
    // transformers would add this token to the vocabulary.
    json[key] = nullptr;
    if (pieces.Find(options.*token) >= 0) json[key] = options.*token;
  }
  if (longest > 0) json["model_max_length"] = longest;
  return json.dump(2, ' ', /*ensure_ascii=*/false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

namespace {

constexpr char kModules[] = "modules.json";
constexpr char kSentence[] = "sentence_bert_config.json";
constexpr char kPoolingFolder[] = "1_Pooling";
constexpr char kNormalizeFolder[] = "2_Normalize";
constexpr char kPoolingMode[] = "pooling_mode";
constexpr char kLongest[] = "max_seq_length";
constexpr char kLowerCase[] = "do_lower_case";

struct PoolingName {
  absl::string_view mode;  // name in sentence-transformers 6
  const char* key;         // key in earlier versions
  TextEmbedderConfig::Pooling pooling;
};

// The first row is the default.
constexpr PoolingName kPoolings[] = {
    {"mean", "pooling_mode_mean_tokens", TextEmbedderConfig::MEAN},
    {"cls", "pooling_mode_cls_token", TextEmbedderConfig::CLS},
    {"max", "pooling_mode_max_tokens", TextEmbedderConfig::MAX}};

// Reads 1_Pooling/config.json. If the file names no pooling mode, uses the
// mean, as sentence-transformers does.
TextEmbedderConfig::Pooling ReadPooling(const JsonObject& json) {
  if (json.Has(kPoolingMode)) {
    std::vector<absl::string_view> modes;
    for (const PoolingName& name : kPoolings) modes.push_back(name.mode);
    return kPoolings[json.Choice(kPoolingMode, modes)].pooling;
  }
  const PoolingName* chosen = nullptr;
  for (const auto& [key, value] : json.json().items()) {
    if (!absl::StartsWith(key, "pooling_mode_") || !json.Bool(key, false)) {
      continue;
    }
    const auto* const name = std::ranges::find_if(
        kPoolings, [&key = key](const auto& one) { return key == one.key; });
    if (name == std::end(kPoolings)) {
      json.AddProblem(
          key,
          absl::StrCat(
              absl::Utf8SafeCHexEscape(key),
              " must be false: only mean, max and cls pooling are supported"));
    } else if (chosen != nullptr) {
      json.AddProblem(
          key, absl::StrCat(key, " must be false: ", chosen->key,
                            " is true, and only one pooling mode may be true"));
    } else {
      chosen = name;
    }
  }
  if (chosen != nullptr) return chosen->pooling;
  const PoolingName& mean = kPoolings[0];
  if (!json.Bool(mean.key, true)) {
    json.AddProblem(
        mean.key,
        absl::StrCat(mean.key,
                     " must be true when no other pooling mode is true"));
  }
  return mean.pooling;
}

void CheckPrompts(const JsonObject& json) {
  constexpr char kName[] = "default_prompt_name";
  if (!json.Has(kName) || json.Texts("prompts")[json.Text(kName)].empty()) {
    return;
  }
  json.AddProblem(
      kName,
      "default_prompt_name must name an empty prompt: Regard puts no "
      "prompt before a text");
}

// Adds a note if the model does not compare texts by cosine similarity. The dot
// product of normalized vectors is their cosine similarity.
void NoteSimilarity(const JsonObject& json, const std::string& path,
                    SentenceTransformersSettings* read) {
  constexpr char kName[] = "similarity_fn_name";
  if (!json.Has(kName)) return;
  const std::string name = json.Text(kName);
  if (name == "cosine" || (name == "dot" && read->vectors.normalize)) return;
  read->notes.push_back(absl::StrCat(
      path, ": similarity_fn_name is '", absl::Utf8SafeCHexEscape(name),
      "', but Regard compares texts by cosine similarity"));
}

// Reads modules.json, and returns whether the model normalizes its vectors.
// Returns the default if the file does not exist.
absl::StatusOr<bool> ReadModules(const std::string& folder) {
  const std::string path = JoinPath(folder, kModules);
  if (!PathExists(path)) return VectorOptions().normalize;
  bool normalize = false;
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          EnsureErrorPrefix(ReadFile(path)));
  // The file contains a list, but JsonFile parses only objects. The list
  // therefore becomes a field of an object. The object begins on line 0, so
  // that the lines of the file keep their numbers.
  REGARD_ASSIGN_OR_RETURN(
      JsonFile file, JsonFile::Parse(absl::StrCat("{\"modules\":\n", text, "}"),
                                     path, /*line=*/0));
  for (const JsonObject& each : file.root().Objects("modules")) {
    const std::string type = each.Text("type");
    const std::string name = type.substr(type.rfind('.') + 1);
    if (name == "Pooling") {
      each.Choice("path", {kPoolingFolder});
    } else if (name == "Normalize") {
      normalize = true;
      const std::string inner = each.Text("path");
      if (inner == ".." || absl::StrContains(inner, '/')) {
        each.AddProblem("path", "path must name a subfolder of this folder");
        continue;
      }
      REGARD_ASSIGN_OR_RETURN(JsonFile config,
                              ReadIfThere(ConfigIn(JoinPath(folder, inner))));
      config.root().Choice("module_input_name", {"sentence_embedding"}, 0);
      config.root().Choice("module_output_name", {"sentence_embedding"}, 0);
      REGARD_RETURN_IF_ERROR(config.status());
    } else if (name != "Transformer" && name != "Dropout") {
      each.AddProblem(
          "type", absl::StrCat("the module '", absl::Utf8SafeCHexEscape(name),
                               "' is not supported; the modules must be "
                               "Transformer, Pooling, Normalize or Dropout"));
    }
  }
  REGARD_RETURN_IF_ERROR(file.status());
  return normalize;
}

}  // namespace

absl::StatusOr<SentenceTransformersSettings> ReadSentenceFiles(
    const std::string& folder, bool lower_case) {
  SentenceTransformersSettings read;
  REGARD_ASSIGN_OR_RETURN(JsonFile sentence,
                          ReadIfThere(JoinPath(folder, kSentence)));
  read.longest = sentence.root().Integer(kLongest, 0, 2, 1 << 24);
  if (sentence.root().Bool(kLowerCase, false) && !lower_case) {
    sentence.root().AddProblem(
        kLowerCase,
        "do_lower_case must be false, because the tokenizer keeps upper case");
  }
  REGARD_RETURN_IF_ERROR(sentence.status());
  REGARD_ASSIGN_OR_RETURN(
      JsonFile pooling,
      ReadIfThere(ConfigIn(JoinPath(folder, kPoolingFolder))));
  read.vectors.pooling = ReadPooling(pooling.root());
  REGARD_RETURN_IF_ERROR(pooling.status());
  REGARD_ASSIGN_OR_RETURN(read.vectors.normalize, ReadModules(folder));
  const std::string path =
      JoinPath(folder, "config_sentence_transformers.json");
  REGARD_ASSIGN_OR_RETURN(JsonFile config, ReadIfThere(path));
  CheckPrompts(config.root());
  NoteSimilarity(config.root(), path, &read);
  REGARD_RETURN_IF_ERROR(config.status());
  return read;
}

absl::Status WriteSentenceFiles(const SentenceTransformersSettings& sentence,
                                int64_t width, const std::string& folder,
                                FileOperations& files) {
  using Json = nlohmann::ordered_json;
  const auto write = [&](const std::string& path, const Json& json) {
    return WriteFileAtomically(JoinPath(folder, path), json.dump(2) + "\n",
                               files);
  };
  REGARD_RETURN_IF_ERROR(
      write(kSentence, {{kLongest, sentence.longest}, {kLowerCase, false}}));
  Json pooling = {{"word_embedding_dimension", width}};
  for (const PoolingName& name : kPoolings) {
    pooling[name.key] = name.pooling == sentence.vectors.pooling;
  }
  REGARD_RETURN_IF_ERROR(
      MakeDirectories(JoinPath(folder, kPoolingFolder), files));
  REGARD_RETURN_IF_ERROR(write(ConfigIn(kPoolingFolder), pooling));
  Json modules = Json::array();
  const auto add = [&](absl::string_view path, absl::string_view type) {
    modules.push_back(
        {{"idx", modules.size()},
         {"name", absl::StrCat(modules.size())},
         {"path", path},
         {"type", absl::StrCat("sentence_transformers.models.", type)}});
  };
  add("", "Transformer");
  add(kPoolingFolder, "Pooling");
  if (sentence.vectors.normalize) {
    REGARD_RETURN_IF_ERROR(
        MakeDirectories(JoinPath(folder, kNormalizeFolder), files));
    add(kNormalizeFolder, "Normalize");
  }
  return write(kModules, modules);
}

}  // namespace regard
