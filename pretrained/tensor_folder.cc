#include "pretrained/tensor_folder.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "files/file.h"
#include "files/json_file.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr char kWhole[] = "model.safetensors";
constexpr char kIndex[] = "model.safetensors.index.json";

// Returns the reason why a file that an index names must not be opened. Empty
// if the file may be opened.
std::string ProblemOf(const std::string& folder, const std::string& name) {
  const std::string shown =
      absl::StrCat("'", absl::Utf8SafeCHexEscape(name), "'");
  if (name.empty() || name == "." || name == ".." ||
      name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos) {
    return absl::StrCat(shown, " must be the name of a file in this folder");
  }
  const absl::StatusOr<PathKind> kind = KindOfPath(JoinPath(folder, name));
  if (!kind.ok()) return std::string(kind.status().message());
  if (*kind == PathKind::kNothing) {
    return absl::StrCat(shown, " must be in this folder, but is not there");
  }
  if (*kind == PathKind::kLink) {
    return absl::StrCat(shown,
                        " is a link, which may point outside the folder; "
                        "replace it with a copy (cp -L)");
  }
  return *kind == PathKind::kFile
             ? ""
             : absl::StrCat(shown, " must be a regular file");
}

}  // namespace

absl::StatusOr<TensorFolder> TensorFolder::Open(const std::string& folder) {
  const std::string whole = JoinPath(folder, kWhole);
  const std::string index = JoinPath(folder, kIndex);
  const bool sharded = !PathExists(whole) && PathExists(index);
  TensorFolder tensors(sharded ? index : whole);
  if (sharded) {
    REGARD_RETURN_IF_ERROR(tensors.AddShards(folder));
    return tensors;
  }
  REGARD_RETURN_IF_ERROR(tensors.AddFile(whole));
  for (const auto& [name, info] : tensors.files_[0].reader.header().tensors) {
    tensors.tensors_[name] = 0;
  }
  return tensors;
}

absl::Status TensorFolder::AddFile(const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(SafetensorsReader reader,
                          EnsureErrorPrefix(SafetensorsReader::Open(path)));
  files_.push_back({path, std::move(reader)});
  return absl::OkStatus();
}

absl::Status TensorFolder::AddShards(const std::string& folder) {
  REGARD_ASSIGN_OR_RETURN(JsonFile index, JsonFile::Read(path_));
  const JsonObject root = index.root();
  root.Require("weight_map");
  const std::map<std::string, std::string> places = root.Texts("weight_map");
  REGARD_RETURN_IF_ERROR(index.status());
  const JsonObject weight_map = *root.Object("weight_map");
  std::map<std::string, std::string> problems;  // by file name
  std::map<std::string, size_t> numbers;        // indices of files_
  std::vector<std::string> messages;
  for (const auto& [tensor, name] : places) {
    const auto [problem, is_new] = problems.try_emplace(name);
    if (is_new) {
      problem->second = ProblemOf(folder, name);
      if (problem->second.empty()) {
        numbers[name] = files_.size();
        const absl::Status added = AddFile(JoinPath(folder, name));
        if (IsMachineFailure(added)) return added;
        if (!added.ok()) messages.emplace_back(added.message());
      } else {
        weight_map.AddProblem(tensor, problem->second);
      }
    }
    if (problem->second.empty()) tensors_[tensor] = numbers[name];
  }
  if (!index.status().ok()) messages.emplace_back(index.status().message());
  if (messages.empty()) CheckIndexMatchesFiles(&messages);
  if (messages.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(messages, "\n"));
}

void TensorFolder::CheckIndexMatchesFiles(
    std::vector<std::string>* messages) const {
  const auto complain = [&](size_t file, const std::string& tensor,
                            absl::string_view problem) {
    messages->push_back(absl::StrCat(files_[file].path, ": error: tensor '",
                                     absl::Utf8SafeCHexEscape(tensor), "' ",
                                     problem));
  };
  for (const auto& [tensor, file] : tensors_) {
    if (!files_[file].reader.header().tensors.contains(tensor)) {
      complain(file, tensor,
               "must be in this file, as the index says, but is not there");
    }
  }
  for (size_t file = 0; file < files_.size(); ++file) {
    for (const auto& [tensor, info] : files_[file].reader.header().tensors) {
      const auto found = tensors_.find(tensor);
      if (found == tensors_.end() || found->second != file) {
        complain(file, tensor,
                 "is in this file, but the index does not list it there; "
                 "correct the index");
      }
    }
  }
}

const TensorInfo& TensorFolder::info(const std::string& name) const {
  return files_[tensors_.at(name)].reader.header().tensors.at(name);
}

const std::string& TensorFolder::PathOf(const std::string& name) const {
  return files_[tensors_.at(name)].path;
}

absl::Status TensorFolder::Read(const std::string& name,
                                absl::Span<float> values) const {
  return EnsureErrorPrefix(
      files_[tensors_.at(name)].reader.ReadFloats(name, values));
}

}  // namespace regard
