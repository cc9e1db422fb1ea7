// The tensors of a folder of Hugging Face's: of model.safetensors or, where
// that is absent, of the files that model.safetensors.index.json names.
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

// Open files whose headers have been checked. Move-only.
class TensorFolder {
 public:
  // Errors are complete to print, and name all that is wrong: an index that
  // names a file outside of the folder, a link, or a file that is not there,
  // and tensors that are not where the index has them. Nothing outside of the
  // folder is opened for an index.
  static absl::StatusOr<TensorFolder> Open(const std::string& folder);

  // The file that lists the tensors: model.safetensors, or the index.
  const std::string& path() const { return path_; }

  // Their names, sorted, and the number of the file that each is in.
  const std::map<std::string, size_t>& tensors() const { return tensors_; }

  // Of one of tensors().
  const TensorInfo& info(const std::string& name) const;
  const std::string& PathOf(const std::string& name) const;
  // Fills `values` with a tensor that HoldsFloats().
  absl::Status Read(const std::string& name, absl::Span<float> values) const;

 private:
  struct File {
    std::string path;
    SafetensorsReader reader;
  };

  explicit TensorFolder(std::string path) : path_(std::move(path)) {}

  absl::Status AddFile(const std::string& path);
  absl::Status AddShards(const std::string& folder);
  // Whether each tensor is in the file that the index says, and no further one.
  void CheckPlaces(std::vector<std::string>* messages) const;

  std::string path_;
  std::vector<File> files_;
  std::map<std::string, size_t> tensors_;  // files_[i] has the tensor
};

}  // namespace regard

#endif  // PRETRAINED_TENSOR_FOLDER_H_
