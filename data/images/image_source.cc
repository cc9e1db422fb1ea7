#include "data/images/image_source.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "data/data_source.h"
#include "data/images/idx.h"
#include "data/images/image_format.h"
#include "data/images/image_list.h"
#include "data/images/images.pb.h"
#include "data/images/shapes.h"
#include "files/file.h"
#include "files/sha256.h"
#include "options/config_problems.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr int64_t kMaxFileBytes = int64_t{1} << 30;

class ShapesSource : public WithOptions<DataSource<ImageData>, ShapesConfig> {
 public:
  using WithOptions::WithOptions;

  static void Validate(const Options& options, ConfigProblems& problems) {
    problems.CheckRanges(options);
    const int64_t images =
        int64_t{options.train()} + options.dev() + options.test();
    if (images * options.size() * options.size() > kMaxFileBytes) {
      problems.Add("size",
                   absl::StrCat("makes ", images, " images of ", options.size(),
                                " x ", options.size(), " pixels; at most ",
                                kMaxFileBytes, " pixels in total are allowed"));
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
  static constexpr DataPathRequirement kPath = DataPathRequirement::kOptional;

  absl::StatusOr<ImageData> Load(const DataRequest& request) const override {
    return ReadFashionMnist(request.path, options_);
  }
};

// Whether `name` has the extension of an image file.
bool IsImageName(absl::string_view name) {
  return absl::EndsWithIgnoreCase(name, ".png") ||
         absl::EndsWithIgnoreCase(name, ".jpg") ||
         absl::EndsWithIgnoreCase(name, ".jpeg");
}

// Whether file browsers hide `name`, or operating systems create it.
bool IsHidden(absl::string_view name) {
  static constexpr absl::string_view kNames[] = {
      "__MACOSX",   "@eaDir",    "$RECYCLE.BIN", "System Volume Information",
      "lost+found", "Thumbs.db", "desktop.ini"};
  return absl::StartsWith(name, ".") ||
         std::ranges::any_of(kNames, [&](absl::string_view hidden) {
           return absl::EqualsIgnoreCase(name, hidden);
         });
}

struct LabelledFiles {
  std::vector<ListedImagePath> images;
  std::vector<std::string> labels;  // label of each image
  std::vector<std::string> notes;
};

// Returns a text such as "'a', 'b' and 3 more".
std::string NamesText(const std::vector<std::string>& names) {
  const size_t shown = std::min<size_t>(names.size(), 20);
  std::string text = absl::StrCat(
      "'", absl::StrJoin(absl::MakeConstSpan(names).subspan(0, shown), "', '"),
      "'");
  if (shown < names.size()) {
    absl::StrAppend(&text, " and ", names.size() - shown, " more");
  }
  return text;
}

// Lists the files of a folder whose subfolders are the classes.
absl::StatusOr<LabelledFiles> FilesOfClasses(const std::string& folder) {
  LabelledFiles files;
  std::vector<std::string> others;   // files that are ignored
  std::vector<std::string> without;  // folders without images
  REGARD_ASSIGN_OR_RETURN(const std::vector<std::string> labels,
                          EnsureErrorPrefix(ListDirectory(folder)));
  for (const std::string& label : labels) {
    if (IsHidden(label)) continue;
    const std::string of_label = JoinPath(folder, label);
    const auto names = EnsureErrorPrefix(ListDirectory(of_label));
    // ListDirectory() returns NotFound if the path is a file, not a directory.
    if (absl::IsNotFound(names.status())) continue;
    REGARD_RETURN_IF_ERROR(names.status());
    const size_t before = files.images.size();
    for (const std::string& name : *names) {
      if (IsHidden(name)) continue;
      if (!IsImageName(name)) {
        others.push_back(JoinPath(label, name));
        continue;
      }
      files.images.push_back({JoinPath(of_label, name), folder});
      files.labels.push_back(label);
    }
    if (files.images.size() == before) without.push_back(label);
  }
  if (!without.empty()) {
    files.notes.push_back(absl::StrCat(
        folder, ": ignored folders without images: ", NamesText(without)));
  }
  if (!others.empty()) {
    files.notes.push_back(
        absl::StrCat(folder, ": ignored ", others.size(),
                     " files whose names do not end in .png, .jpg or .jpeg: ",
                     NamesText(others)));
  }
  return files;
}

// Returns the error for bad images. The error also names classes without a good
// image.
absl::Status ErrorOf(const LabelledFiles& files, const BadImages& bad) {
  const absl::Status error = BadImagesError(files.images, bad);
  std::map<std::string, bool> lost;
  for (size_t i = 0; i < files.images.size(); ++i) {
    bool& of_label = lost.emplace(files.labels[i], true).first->second;
    of_label = of_label && bad.contains(files.images[i].path);
  }
  std::vector<std::string> names;
  for (const auto& [label, is_lost] : lost) {
    if (is_lost) names.push_back(label);
  }
  if (names.empty()) return error;
  return absl::Status(
      error.code(), absl::StrCat(error.message(),
                                 "\nerror: each class requires at least one "
                                 "image that can be read; none can be read in ",
                                 NamesText(names)));
}

class ImagesSource : public WithOptions<DataSource<ImageData>, ImagesConfig> {
 public:
  using WithOptions::WithOptions;
  static DataPathRequirement Path(const Options& options) {
    if (options.has_path() || options.has_labels()) {
      return DataPathRequirement::kNone;
    }
    // If all images are in the test split, a trained model needs them only for
    // its evaluation.
    return options.test_fraction() == 1 ? DataPathRequirement::kOptional
                                        : DataPathRequirement::kRequired;
  }

  static void Validate(const Options& options, ConfigProblems& problems) {
    ValidateRangesAndFractions(options, problems);
    if (options.has_root() && !options.has_labels()) {
      problems.Note("root", "has no effect without `labels`");
    }
    const ConfigProblems::Scope scope(problems, "format");
    ValidateImageFormat(options.format(), problems);
  }

  absl::StatusOr<ImageData> Load(const DataRequest& request) const override {
    ImageData data;
    const std::string given =
        options_.has_path() ? options_.path() : request.path;
    if (given.empty() && !options_.has_labels()) {
      return absl::InvalidArgumentError(
          "error: data.path names no folder of images; set it with --set "
          "data.path=FOLDER");
    }
    const std::string folder = given.empty() ? "" : ResolveUserPath(given);
    LabelledFiles files;
    if (options_.has_labels()) {
      const auto add = [&](ListedImagePath image,
                           absl::string_view label) -> absl::Status {
        if (absl::StrContains(label, '\t')) {
          return absl::InvalidArgumentError("the label must not contain a tab");
        }
        files.images.push_back(std::move(image));
        files.labels.emplace_back(label);
        return absl::OkStatus();
      };
      REGARD_ASSIGN_OR_RETURN(
          data.digests["data.images.labels"],
          ReadImageList({.path = ResolveUserPath(options_.labels()),
                         .what = "list of labels",
                         .folder = folder,
                         .root = RootOf(options_),
                         .root_field = "data.images.root"},
                        add));
    } else {
      REGARD_ASSIGN_OR_RETURN(files, FilesOfClasses(folder));
    }
    REGARD_RETURN_IF_ERROR(CheckImageBytes(files.images, options_.format()));
    const std::string where = options_.has_labels() ? options_.labels() : given;
    std::vector<std::string>& classes = data.splits.classes;
    classes = files.labels;
    std::sort(classes.begin(), classes.end());
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    if (classes.size() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": error: found ", files.images.size(),
                       " images of ", classes.size(),
                       " classes; at least 2 classes are required. A class is "
                       "a folder of PNG and JPEG files, or a label in the "
                       "lines \"FILE<TAB>LABEL\" of data.images.labels"));
    }
    const SplitIndices order =
        DrawSplits(files.images.size(), options_.dev_fraction(),
                   options_.test_fraction(), request.seed);
    std::string digests;
    BadImages bad;
    const auto read =
        [&](const std::vector<size_t>& chosen) -> absl::StatusOr<ImageSet> {
      std::vector<ListedImagePath> images;
      std::vector<int32_t> labels;
      for (const size_t i : chosen) {
        images.push_back(files.images[i]);
        labels.push_back(static_cast<int32_t>(
            std::lower_bound(classes.begin(), classes.end(), files.labels[i]) -
            classes.begin()));
        absl::StrAppend(&digests, files.labels[i], "\n");
      }
      REGARD_ASSIGN_OR_RETURN(
          ImageSet set, ReadImages(images, options_.format(), &digests, &bad));
      set.labels = std::move(labels);
      return set;
    };
    REGARD_ASSIGN_OR_RETURN(data.splits.train, read(order.train));
    REGARD_ASSIGN_OR_RETURN(data.splits.dev, read(order.dev));
    REGARD_ASSIGN_OR_RETURN(data.splits.test, read(order.test));
    if (!bad.empty()) return ErrorOf(files, bad);
    data.digests["data.images"] = Sha256Hex(digests);
    data.notes = std::move(files.notes);
    return data;
  }
};

// Returns the path of `folder`/`name`.gz. If only the uncompressed file exists,
// returns the path of that file.
std::string FindFile(const std::string& folder, absl::string_view name) {
  const std::string plain = JoinPath(folder, name);
  const std::string packed = absl::StrCat(plain, ".gz");
  return PathExists(packed) || !PathExists(plain) ? packed : plain;
}

absl::StatusOr<std::string> ReadImageFile(const std::string& path,
                                          ImageData* data) {
  absl::StatusOr<std::string> bytes = ReadFile(path, kMaxFileBytes);
  if (!bytes.ok()) {
    std::string message =
        absl::StrCat("error: images ", bytes.status().message());
    if (bytes.status().code() == absl::StatusCode::kNotFound) {
      absl::StrAppend(
          &message,
          "\n  Fashion-MNIST is the Debian package dataset-fashion-mnist. To "
          "install it:\n    tools/bazel run //configs:fashion_mnist_setup\n  "
          "or, as root:\n    apt-get install -y dataset-fashion-mnist\n  To "
          "use your own folder, add --set data.path=FOLDER");
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

// Returns the images first .. first + count - 1.
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

absl::Status ReplaceClasses(const std::vector<std::string>& classes,
                            ImageSplits* data) {
  for (ImageSet* set : {&data->train, &data->dev, &data->test}) {
    for (int32_t& label : set->labels) {
      const std::string& name = data->classes[static_cast<size_t>(label)];
      const auto found = std::ranges::find(classes, name);
      if (found == classes.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("error: data: the model does not know class '", name,
                         "'; it knows ", absl::StrJoin(classes, ", ")));
      }
      label = static_cast<int32_t>(found - classes.begin());
    }
  }
  data->classes = classes;
  return absl::OkStatus();
}

absl::StatusOr<ImageData> ReadFashionMnist(const std::string& given,
                                           const FashionMnistConfig& config) {
  const std::string path = given.empty() ? "/usr/share/datasets/fashion-mnist"
                                         : ResolveUserPath(given);
  ImageData data;
  data.splits.classes = {"t-shirt", "trousers", "pullover", "dress", "coat",
                         "sandal",  "shirt",    "sneaker",  "bag",   "boot"};
  const auto classes = static_cast<int32_t>(data.splits.classes.size());
  const bool is_file =
      PathExists(path) && absl::IsNotFound(ListDirectory(path).status());
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
        path, ": error: training images have ", train.shape.height, " x ",
        train.shape.width, " pixels, but test images have ",
        data.splits.test.shape.height, " x ", data.splits.test.shape.width));
  }
  const int64_t wanted = int64_t{config.dev()} + std::max(config.train(), 1);
  if (wanted > train.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": error: has ", train.size(),
                     " training images; data.fashion_mnist requires ", wanted,
                     " (train + dev)"));
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
  sources.Add<ImagesSource>("PNG and JPEG files");
}

}  // namespace regard
