// Reads the tensors of a Hugging Face model folder. They are in
// model.safetensors or, if it does not exist, in the files that
// model.safetensors.index.json names.
#ifndef PRETRAINED_TENSOR_FOLDER_H_
#define PRETRAINED_TENSOR_FOLDER_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "files/safetensors.h"

namespace regard {

// Open files with validated headers. Move-only.
class TensorFolder {
 public:
  // Opens the files of a folder. Error messages are meant for users and list
  // all problems:
  // * files that are missing or are links,
  // * tensors that are not in the file that the index names,
  // * an index that names a path outside the folder, which is not opened.
  static absl::StatusOr<TensorFolder> Open(const std::string& folder);

  // The path of the file that lists the tensors: model.safetensors, or the
  // index.
  const std::string& path() const { return path_; }

  // Maps the name of each tensor to the index of the file that contains it.
  // Sorted by name.
  const std::map<std::string, size_t>& tensors() const { return tensors_; }

  // `name` must be in tensors().
  const TensorInfo& info(const std::string& name) const;
  const std::string& PathOf(const std::string& name) const;
  // Fills `values` with a tensor, for which ContainsFloats() must be true.
  absl::Status Read(const std::string& name, absl::Span<float> values) const;

 private:
  struct File {
    std::string path;
    SafetensorsReader reader;
  };

  explicit TensorFolder(std::string path) : path_(std::move(path)) {}

  absl::Status AddFile(const std::string& path);
  absl::Status AddShards(const std::string& folder);
  // Checks that each tensor is in the file that the index names, and that the
  // files contain no other tensors.
  void CheckIndexMatchesFiles(std::vector<std::string>* messages) const;

  std::string path_;
  std::vector<File> files_;
  std::map<std::string, size_t> tensors_;  // files_[i] contains the tensor
};

}  // namespace regard

#endif  // PRETRAINED_TENSOR_FOLDER_H_
