#include "data/images/image_source.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "data/data_source.h"
#include "data/images/idx.h"
#include "data/images/shapes.h"
#include "files/file.h"
#include "files/sha256.h"
#include "nn/config_problems.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr int64_t kMostFileBytes = int64_t{1} << 30;

class ShapesSource : public WithOptions<DataSource<ImageData>, ShapesConfig> {
 public:
  using WithOptions::WithOptions;

  static void Validate(const Options& options, ConfigProblems& problems) {
    problems.CheckRanges(options);
    const int64_t images =
        int64_t{options.train()} + options.dev() + options.test();
    if (images * options.size() * options.size() > kMostFileBytes) {
      problems.Add("size",
                   absl::StrCat("makes ", images, " images of more than ",
                                kMostFileBytes, " pixels"));
    }
  }

  absl::StatusOr<ImageData> Load(const DataRequest& request) const override {
    const auto images = [&](int64_t count, const char* split) {
      return MakeShapes(count, options_.size(), request.seed, split);
    };
    ImageData data;
    data.splits = {images(options_.train(), "train"),
                   images(options_.dev(), "dev"),
                   images(options_.test(), "test"), ShapeNames()};
    return data;
  }
};

class FashionMnistSource
    : public WithOptions<DataSource<ImageData>, FashionMnistConfig> {
 public:
  using WithOptions::WithOptions;
  static constexpr DataPath kPath = DataPath::kOptional;

  absl::StatusOr<ImageData> Load(const DataRequest& request) const override {
    return ReadFashionMnist(request.path, options_);
  }
};

// `folder`/`name`, with ".gz" if there is such a file.
std::string FindFile(const std::string& folder, absl::string_view name) {
  const std::string plain = JoinPath(folder, name);
  const std::string packed = absl::StrCat(plain, ".gz");
  return PathExists(packed) || !PathExists(plain) ? packed : plain;
}

absl::StatusOr<std::string> ReadImageFile(const std::string& path,
                                          ImageData* data) {
  absl::StatusOr<std::string> bytes = ReadFile(path, kMostFileBytes);
  if (!bytes.ok()) {
    std::string message =
        absl::StrCat("error: images ", bytes.status().message());
    if (bytes.status().code() == absl::StatusCode::kNotFound) {
      absl::StrAppend(
          &message,
          "\n  Fashion-MNIST is Debian's package dataset-fashion-mnist. To "
          "install it:\n    tools/bazel run //configs:fashion_mnist_setup\n  "
          "or, as root:\n    apt-get install -y dataset-fashion-mnist\n  A "
          "folder of your own is given by --set data.path=FOLDER");
    }
    return absl::Status(bytes.status().code(), message);
  }
  const std::string name = path.substr(path.rfind('/') + 1);
  data->digests[absl::StrCat("data.path/", name)] = Sha256Hex(*bytes);
  return bytes;
}

absl::StatusOr<ImageSet> ReadSet(const std::string& image_path,
                                 const std::string& label_path, int32_t classes,
                                 ImageData* data) {
  REGARD_ASSIGN_OR_RETURN(std::string images, ReadImageFile(image_path, data));
  REGARD_ASSIGN_OR_RETURN(std::string labels, ReadImageFile(label_path, data));
  return ParseLabelledImages(std::move(images), image_path, std::move(labels),
                             label_path, classes);
}

// The images first .. first + count - 1.
ImageSet Part(const ImageSet& set, int64_t first, int64_t count) {
  const int64_t size = set.shape.size();
  ImageSet part;
  part.shape = set.shape;
  part.pixels.assign(set.pixels.begin() + first * size,
                     set.pixels.begin() + (first + count) * size);
  part.labels.assign(set.labels.begin() + first,
                     set.labels.begin() + first + count);
  return part;
}

}  // namespace

absl::StatusOr<ImageData> ReadFashionMnist(const std::string& given,
                                           const FashionMnistConfig& config) {
  const std::string path = given.empty() ? "/usr/share/datasets/fashion-mnist"
                                         : ResolveUserPath(given);
  ImageData data;
  data.splits.classes = {"t-shirt", "trousers", "pullover", "dress", "coat",
                         "sandal",  "shirt",    "sneaker",  "bag",   "boot"};
  const auto classes = static_cast<int32_t>(data.splits.classes.size());
  const bool is_file = PathExists(path) && !ListDirectory(path).ok();
  const size_t slash = path.rfind('/');
  const std::string folder = !is_file ? path
                             : slash == std::string::npos
                                 ? "."
                                 : path.substr(0, slash + 1);
  REGARD_ASSIGN_OR_RETURN(
      const ImageSet train,
      ReadSet(is_file ? path : FindFile(folder, "train-images-idx3-ubyte"),
              FindFile(folder, "train-labels-idx1-ubyte"), classes, &data));
  REGARD_ASSIGN_OR_RETURN(
      data.splits.test,
      ReadSet(FindFile(folder, "t10k-images-idx3-ubyte"),
              FindFile(folder, "t10k-labels-idx1-ubyte"), classes, &data));
  if (!(data.splits.test.shape == train.shape)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": error: images to train on have ", train.shape.height, " x ",
        train.shape.width, " pixels, those to test on ",
        data.splits.test.shape.height, " x ", data.splits.test.shape.width));
  }
  const int64_t wanted = int64_t{config.dev()} + std::max(config.train(), 1);
  if (wanted > train.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": error: ", train.size(),
                     " images to train on; data.fashion_mnist takes ", wanted,
                     " (train and dev)"));
  }
  const int64_t rest = train.size() - config.dev();
  data.splits.train =
      Part(train, 0, config.train() > 0 ? config.train() : rest);
  data.splits.dev = Part(train, rest, config.dev());
  return data;
}

REGARD_DATA_SOURCES(ImageSource) {
  sources.Add<ShapesSource>("generated images of shapes");
  sources.Add<FashionMnistSource>("images of clothes");
}

}  // namespace regard
