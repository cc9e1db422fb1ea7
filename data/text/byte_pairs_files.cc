#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "data/text/byte_level.h"
#include "data/text/byte_pairs.h"
#include "files/file.h"
#include "files/json_file.h"
#include "files/printable_text.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr int64_t kMaxTokens = int64_t{1} << 24;
constexpr size_t kMaxProblems = 20;

std::string Quoted(absl::string_view token) {
  return absl::StrCat("'", PrintableText(token), "'");
}

// Reports a problem if the field `key` is present and is not `wanted`.
void WantBool(const JsonObject& json, const std::string& key, bool wanted) {
  if (json.Bool(key, wanted) == wanted) return;
  json.AddProblem(key,
                  absl::StrCat(key, " must be ", wanted ? "true" : "false"));
}

void WantEmpty(const JsonObject& json, const std::string& key) {
  if (json.Has(key)) json.Choice(key, {""});
}

void CheckByteLevel(const JsonObject& json, const std::string& key) {
  json.Require(key);
  const auto part = json.Object(key);
  if (!part.has_value()) return;
  part->Choice("type", {"ByteLevel"});
  // A decoder does not use the fields below.
  if (key == "decoder") return;
  // add_prefix_space would add a space before a text that does not begin with a
  // space.
  if (part->Has("add_prefix_space")) WantBool(*part, "add_prefix_space", false);
  WantBool(*part, "use_regex", true);
}

// Checks the fields of tokenizer.json other than its tokens.
void CheckOptions(const JsonObject& json) {
  if (json.Has("normalizer")) {
    json.AddProblem("normalizer",
                    "normalizer must be null: Regard does not normalize text "
                    "before it is split into byte pairs");
  }
  CheckByteLevel(json, "pre_tokenizer");
  CheckByteLevel(json, "decoder");
  json.Require("model");
  const auto model = json.Object("model");
  if (!model.has_value()) return;
  model->Choice("type", {"BPE"}, 0);
  model->Real("dropout", 0, 0, 0);
  WantEmpty(*model, "continuing_subword_prefix");
  WantEmpty(*model, "end_of_word_suffix");
  WantBool(*model, "ignore_merges", false);
  model->Require("vocab");
}

// Checks that a tokenizer.json adds no tokens before or after a text.
void CheckAround(const JsonObject& json) {
  const auto part = json.Object("post_processor");
  if (!part.has_value()) return;
  part->Choice("type", {"ByteLevel", "TemplateProcessing"});
  constexpr char kTokens[] = "special_tokens";
  if (part->Has(kTokens) && !part->json()[kTokens].empty()) {
    part->AddProblem(
        kTokens,
        "special_tokens must be empty: Regard puts no tokens around a text");
  }
}

}  // namespace

// Combines the contents of files into a tokenizer.
class BytePairsReader {
 public:
  // Reads a whole tokenizer.json.
  void ReadTokenizer(const JsonObject& json);
  // Reads the ids of the tokens of a vocabulary.
  void ReadVocabulary(const JsonObject& json);

  // Adds a merge. Returns the problem of the merge, or "".
  std::string AddMerge(const std::string& left, const std::string& right);
  // Reads an array of pairs, or of strings with a space between tokens.
  void ReadMerges(const JsonObject& model);
  // Reads merges.txt, which has one pair per line.
  absl::Status ReadMerges(absl::string_view text, absl::string_view path);

  // Reads added_tokens.json, which maps texts to ids.
  void ReadAddedIds(const JsonObject& json);
  // Reads special_tokens_map.json and tokenizer_config.json.
  void ReadSpecialTokens(const JsonObject& json);
  // Makes `text` an added token if it is in the vocabulary.
  void AddSpecial(const std::string& text);

  // Sets the bytes of all tokens. Returns the problems that it finds.
  std::vector<std::string> SetBytes();
  // Returns the tokenizer. `path` names the file of the vocabulary in errors.
  absl::StatusOr<BytePairs> Finish(absl::string_view path);

 private:
  // Returns the token's id in the vocabulary or among added tokens, or -1.
  int32_t Find(const std::string& text) const;
  // Assigns the id to `text`. Returns the problem, or "".
  std::string TakeId(const std::string& text, int64_t id);
  // Adds a token. Problems are reported for the field `key` of `json`.
  void AddToken(const JsonObject& json, const std::string& key,
                AddedToken token, int64_t id);

  std::map<int32_t, std::string> texts_;       // spellings, by id
  std::map<std::string, int32_t> vocabulary_;  // ids by spelling
  std::map<std::string, AddedToken> added_;
  BytePairs pairs_;
};

int32_t BytePairsReader::Find(const std::string& text) const {
  if (const auto added = added_.find(text); added != added_.end()) {
    return added->second.id;
  }
  const auto found = vocabulary_.find(text);
  return found == vocabulary_.end() ? -1 : found->second;
}

std::string BytePairsReader::TakeId(const std::string& text, int64_t id) {
  if (text.empty()) return "a token must not be empty";
  if (id < 0 || id >= kMaxTokens) {
    return absl::StrCat("the id of ", Quoted(text), " must be from 0 to ",
                        kMaxTokens - 1);
  }
  const auto [other, is_new] =
      texts_.try_emplace(static_cast<int32_t>(id), text);
  if (is_new || other->second == text) return "";
  return absl::StrCat(Quoted(other->second), " and ", Quoted(text),
                      " have the same id, ", id,
                      "; each token must have its own id");
}

void BytePairsReader::ReadVocabulary(const JsonObject& json) {
  for (const auto& [token, value] : json.json().items()) {
    const int64_t id = json.Integer(token, {}, 0, kMaxTokens - 1);
    const std::string problem = TakeId(token, id);
    if (problem.empty()) {
      vocabulary_.emplace(token, static_cast<int32_t>(id));
    } else {
      json.AddProblem(token, problem);
    }
  }
}

std::string BytePairsReader::AddMerge(const std::string& left,
                                      const std::string& right) {
  BytePairs::Merge merge = {};
  for (const auto& [token, id] :
       {std::pair(left, &merge.left), std::pair(right, &merge.right),
        std::pair(left + right, &merge.joined)}) {
    const auto found = vocabulary_.find(token);
    if (found == vocabulary_.end()) {
      return absl::StrCat("the merge of ", Quoted(left), " and ", Quoted(right),
                          " requires the token ", Quoted(token),
                          ", which must be in the vocabulary");
    }
    *id = found->second;
  }
  const auto rank = static_cast<int32_t>(pairs_.merges_.size());
  const auto [other, is_new] =
      pairs_.ranks_.try_emplace({merge.left, merge.right}, rank);
  if (!is_new) {
    return absl::StrCat("the merge of ", Quoted(left), " and ", Quoted(right),
                        " occurs twice, first as number ", other->second + 1,
                        "; remove one of the two");
  }
  pairs_.merges_.push_back(merge);
  return "";
}

void BytePairsReader::ReadMerges(const JsonObject& model) {
  for (const nlohmann::json& each : model.Array("merges")) {
    std::vector<std::string> pair;
    if (each.is_string()) {
      pair = absl::StrSplit(each.get<std::string>(), ' ');
    } else if (each.is_array()) {
      for (const nlohmann::json& token : each) {
        pair.push_back(token.is_string() ? token.get<std::string>() : "");
      }
    }
    const std::string problem = pair.size() == 2
                                    ? AddMerge(pair[0], pair[1])
                                    : "a merge must have two tokens";
    if (!problem.empty()) model.AddProblem("merges", problem);
  }
}

absl::Status BytePairsReader::ReadMerges(absl::string_view text,
                                         absl::string_view path) {
  std::vector<std::string> problems;
  int64_t line_number = 0;
  absl::ConsumeSuffix(&text, "\n");
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    absl::ConsumeSuffix(&line, "\r");
    if (absl::StartsWith(line, "#version")) continue;
    const std::vector<std::string> pair = absl::StrSplit(line, ' ');
    const std::string problem =
        pair.size() == 2 ? AddMerge(pair[0], pair[1])
                         : "expected two tokens separated by a space";
    if (problem.empty() || problems.size() == kMaxProblems) continue;
    problems.push_back(
        absl::StrCat(path, ":", line_number, ": error: ", problem));
  }
  if (problems.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(problems, "\n"));
}

void BytePairsReader::AddToken(const JsonObject& json, const std::string& key,
                               AddedToken token, int64_t id) {
  if (token.text.empty()) return;  // an empty text is already a problem
  const int32_t known = Find(token.text);
  if (known >= 0 && known != id) {
    return json.AddProblem(
        key, absl::StrCat(Quoted(token.text), " has two ids, ", id, " and ",
                          known, "; each token must have only one"));
  }
  const std::string problem = TakeId(token.text, id);
  if (!problem.empty()) return json.AddProblem(key, problem);
  token.id = static_cast<int32_t>(id);
  added_.try_emplace(token.text, token);
}

void BytePairsReader::AddSpecial(const std::string& text) {
  const auto found = vocabulary_.find(text);
  if (found == vocabulary_.end()) return;
  added_.try_emplace(text, AddedToken{.text = text, .id = found->second});
}

void BytePairsReader::ReadTokenizer(const JsonObject& json) {
  CheckOptions(json);
  const auto model = json.Object("model");
  if (!model.has_value()) return;
  if (const auto vocabulary = model->Object("vocab")) {
    ReadVocabulary(*vocabulary);
  }
  ReadMerges(*model);
  if (!json.Has("added_tokens")) return;
  for (const JsonObject& each : json.Objects("added_tokens")) {
    const int64_t id = each.Integer("id");
    AddToken(each, "id", ReadAddedToken(each), id);
  }
}

void BytePairsReader::ReadAddedIds(const JsonObject& json) {
  for (const auto& [text, value] : json.json().items()) {
    AddToken(json, text, {.text = text, .normalized = true, .special = false},
             json.Integer(text));
  }
}

void BytePairsReader::ReadSpecialTokens(const JsonObject& json) {
  if (const auto ids = json.Object("added_tokens_decoder")) {
    for (const auto& [id, value] : ids->json().items()) {
      int64_t number = -1;
      const auto token = ids->Object(id);
      if (!token.has_value()) continue;
      if (!absl::SimpleAtoi(id, &number)) number = -1;
      AddToken(*ids, id, ReadAddedToken(*token), number);
    }
  }
  const auto add = [&](const std::string& key, AddedToken token) {
    const int32_t id = Find(token.text);
    if (id < 0) {
      return json.AddProblem(
          key, absl::StrCat(key, " must be a token of the vocabulary; ",
                            Quoted(token.text), " has no id"));
    }
    AddToken(json, key, std::move(token), id);
  };
  for (const char* key : {"unk_token", "bos_token", "eos_token", "pad_token",
                          "sep_token", "cls_token", "mask_token"}) {
    if (!json.Has(key)) continue;
    if (json.json()[key].is_object()) {
      add(key, ReadAddedToken(*json.Object(key)));
    } else if (std::string text = json.Text(key); !text.empty()) {
      add(key, {.text = std::move(text)});
    }
  }
  for (const char* key :
       {"additional_special_tokens", "extra_special_tokens"}) {
    // An empty list may be written as an empty object.
    if (!json.Has(key) || json.json()[key].empty()) continue;
    for (const std::string& text : json.TextList(key)) add(key, {.text = text});
  }
}

std::vector<std::string> BytePairsReader::SetBytes() {
  std::vector<std::string> problems;
  const auto complain = [&](const auto&... parts) {
    problems.push_back(absl::StrCat(parts...));
  };
  // Whether each token is a byte or the result of a merge.
  std::vector<bool> is_made(texts_.size());
  const auto note_made = [&](int32_t id) {
    if (static_cast<size_t>(id) < is_made.size()) is_made[id] = true;
  };
  for (int byte = 0; byte < 256; ++byte) {
    const std::string spelled =
        SpellBytes(std::string(1, static_cast<char>(byte)));
    const auto found = vocabulary_.find(spelled);
    if (found == vocabulary_.end()) {
      complain("the vocabulary must have the token ", Quoted(spelled),
               ", which stands for byte ", byte);
      continue;
    }
    pairs_.byte_ids_[byte] = found->second;
    note_made(found->second);
  }
  for (const auto& merge : pairs_.merges_) note_made(merge.joined);
  for (const auto& [id, text] : texts_) {
    if (static_cast<size_t>(id) != pairs_.bytes_.size()) {
      complain("no token has id ", pairs_.bytes_.size(), ", but ", Quoted(text),
               " has id ", id, "; ids must be consecutive from 0");
      break;
    }
    std::optional<std::string> bytes = UnspellBytes(text);
    if (added_.contains(text)) {
      if (is_made[id] && bytes != text) {
        complain(
            "the added token ", Quoted(text),
            " must stand for its own bytes: a byte or a merge has the same id");
      }
      bytes = text;
    } else if (!bytes.has_value()) {
      complain("token ", Quoted(text),
               " must contain only characters that stand for bytes");
    }
    pairs_.bytes_.push_back(bytes.value_or(""));
  }
  return problems;
}

absl::StatusOr<BytePairs> BytePairsReader::Finish(absl::string_view path) {
  std::vector<std::string> problems = SetBytes();
  if (!problems.empty()) {
    const size_t more =
        problems.size() - std::min(problems.size(), kMaxProblems);
    problems.resize(problems.size() - more);
    for (std::string& problem : problems) {
      problem = absl::StrCat(path, ": error: ", problem);
    }
    if (more > 0) {
      problems.push_back(absl::StrCat(path, ": ", more, " more errors"));
    }
    return absl::InvalidArgumentError(absl::StrJoin(problems, "\n"));
  }
  std::vector<AddedToken> added;
  for (auto& [text, token] : added_) added.push_back(std::move(token));
  pairs_.added_ = AddedTokens(std::move(added));
  pairs_.IndexTokens();
  return std::move(pairs_);
}

absl::StatusOr<BytePairs> BytePairs::Parse(absl::string_view text,
                                           absl::string_view path) {
  REGARD_ASSIGN_OR_RETURN(JsonFile file, JsonFile::Parse(text, path));
  BytePairsReader reader;
  reader.ReadTokenizer(file.root());
  REGARD_RETURN_IF_ERROR(file.status());
  return reader.Finish(path);
}

absl::StatusOr<BytePairs> ReadBytePairs(const std::string& folder) {
  BytePairsReader reader;
  const auto read = [&](const std::string& path,
                        absl::FunctionRef<void(const JsonObject&)> take) {
    absl::StatusOr<JsonFile> file = JsonFile::Read(path);
    if (!file.ok()) return file.status();
    take(file->root());
    return file->status();
  };
  std::string path = JoinPath(folder, "tokenizer.json");
  const bool is_whole = PathExists(path);
  if (is_whole) {
    REGARD_RETURN_IF_ERROR(read(path, [&](const JsonObject& json) {
      reader.ReadTokenizer(json);
      CheckAround(json);
    }));
  } else {
    path = JoinPath(folder, "vocab.json");
    REGARD_RETURN_IF_ERROR(read(
        path, [&](const JsonObject& json) { reader.ReadVocabulary(json); }));
    const std::string merges = JoinPath(folder, "merges.txt");
    REGARD_ASSIGN_OR_RETURN(const std::string text,
                            EnsureErrorPrefix(ReadFile(merges)));
    REGARD_RETURN_IF_ERROR(reader.ReadMerges(text, merges));
    reader.AddSpecial("<|endoftext|>");
  }
  const std::string added = JoinPath(folder, "added_tokens.json");
  if (PathExists(added)) {
    REGARD_RETURN_IF_ERROR(read(
        added, [&](const JsonObject& json) { reader.ReadAddedIds(json); }));
  }
  for (const char* name :
       {"tokenizer_config.json", "special_tokens_map.json"}) {
    const std::string special = JoinPath(folder, name);
    if (!PathExists(special)) continue;
    REGARD_RETURN_IF_ERROR(read(special, [&](const JsonObject& json) {
      WantBool(json, "add_prefix_space", false);
      // If there is a tokenizer.json, transformers uses its post_processor
      // instead of these fields.
      for (const char* key : {"add_bos_token", "add_eos_token"}) {
        if (!is_whole) WantBool(json, key, false);
      }
      reader.ReadSpecialTokens(json);
    }));
  }
  return reader.Finish(path);
}

}  // namespace regard
