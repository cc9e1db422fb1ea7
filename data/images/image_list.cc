#include "data/images/image_list.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "autodiff/random.h"
#include "autodiff/worker_pool.h"
#include "data/images/image_file.h"
#include "data/images/image_format.h"
#include "data/images/image_format.pb.h"
#include "data/text/prepared_text.h"
#include "data/text_file.h"
#include "files/file.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 30;
constexpr int kMaxNamed = 20;  // number of bad images that an error names

absl::Status ErrorAt(const ListedImagePath& image,
                     const absl::Status& problem) {
  return absl::Status(
      problem.code(),
      absl::StrCat(image.where, ": error: ", problem.message()));
}

// Whether `path` is in the directory `root` or in a subdirectory. Does not
// resolve symbolic links.
bool IsWithin(const std::string& path, const std::string& root) {
  const auto whole = [](const std::string& name) {
    return std::filesystem::absolute(name.empty() ? "." : name)
        .lexically_normal();
  };
  const std::filesystem::path rest =
      whole(path).lexically_relative(whole(root));
  return !rest.empty() && *rest.begin() != "..";
}

}  // namespace

absl::StatusOr<std::string> ReadImageList(
    const ImageListSpec& list,
    const std::function<absl::Status(ListedImagePath, absl::string_view text)>&
        add) {
  REGARD_ASSIGN_OR_RETURN(TextFile file, TextFile::Open(list.path, list.what));
  const std::string from = !list.folder.empty()
                               ? list.folder
                               : list.path.substr(0, list.path.rfind('/') + 1);
  const std::string& root = list.root.empty() ? from : list.root;
  while (true) {
    REGARD_ASSIGN_OR_RETURN(const bool more, file.Next());
    if (!more) break;
    const absl::string_view line = file.text();
    if (IsBlankLine(line, /*text_version=*/1)) continue;
    const size_t tab = line.find('\t');
    if (tab == absl::string_view::npos || tab == 0 || tab + 1 == line.size()) {
      return file.Error(tab == 0 ? 0 : line.size(),
                        "expected the path of an image, a tab and a text");
    }
    const std::string name(line.substr(0, tab));
    ListedImagePath image = {
        .path = name[0] == '/' || from.empty() ? name : JoinPath(from, name),
        .where = absl::StrCat(list.path, ":", file.number(), ":1")};
    if (!IsWithin(image.path, root)) {
      return file.Error(
          0, absl::StrCat("'", name, "' is outside of '",
                          root.empty() ? "." : root,
                          "': move the image there, or set ", list.root_field,
                          " to a folder that holds all images"));
    }
    const absl::string_view text = line.substr(tab + 1);
    if (const absl::Status added = add(std::move(image), text); !added.ok()) {
      return file.Error(tab + 1, added.message());
    }
  }
  return file.Digest();
}

absl::Status CheckImageBytes(const std::vector<ListedImagePath>& images,
                             const ImageFormat& format) {
  const int64_t size = ShapeOf(format).size();
  const auto count = std::ssize(images);
  if (count <= kMaxBytes / size) return absl::OkStatus();
  return ErrorAt(
      images[0],
      absl::InvalidArgumentError(absl::StrCat(
          count, " images of ", size, " bytes each exceed the limit of ",
          kMaxBytes,
          " bytes in total; use fewer images or a smaller `format`")));
}

absl::StatusOr<ImageSet> ReadImages(const std::vector<ListedImagePath>& images,
                                    const ImageFormat& format,
                                    std::string* digests, BadImages* bad) {
  ImageSet set = {.shape = ShapeOf(format), .format = format};
  const int64_t size = set.shape.size();
  const auto count = std::ssize(images);
  REGARD_RETURN_IF_ERROR(CheckImageBytes(images, format));
  set.pixels.resize(static_cast<size_t>(count * size));
  std::vector<absl::Status> statuses(images.size());
  std::vector<std::string> sha256(images.size());
  WorkerPool pool(HardwareThreads());
  pool.Run(count, [&](int64_t i) {
    const auto index = static_cast<size_t>(i);
    const absl::StatusOr<ByteImage> image =
        ReadImage(images[index].path, set.shape.channels, &sha256[index]);
    statuses[index] = image.status();
    if (!image.ok()) return;
    const ByteImage fitted = FitImage(*image, format);
    std::copy(fitted.pixels.begin(), fitted.pixels.end(),
              set.pixels.begin() + i * size);
  });
  for (size_t i = 0; i < images.size(); ++i) {
    if (!statuses[i].ok()) bad->emplace(images[i].path, statuses[i]);
    absl::StrAppend(digests, sha256[i], "\n");
  }
  return set;
}

absl::Status BadImagesError(const std::vector<ListedImagePath>& images,
                            const BadImages& bad) {
  absl::Status error;
  int64_t count = 0;
  std::string text;
  for (const ListedImagePath& image : images) {
    const auto found = bad.find(image.path);
    if (found == bad.end()) continue;
    const absl::Status of_one = ErrorAt(image, found->second);
    if (error.ok() || (IsMachineFailure(of_one) && !IsMachineFailure(error))) {
      error = of_one;
    }
    if (++count > kMaxNamed) continue;
    absl::StrAppend(&text, count == 1 ? "" : "\n", of_one.message());
  }
  if (count > 1) {
    absl::StrAppend(&text, "\nerror: ", count, " of ", images.size(),
                    " images cannot be read");
  }
  if (count > kMaxNamed) {
    absl::StrAppend(&text, "; the first ", kMaxNamed, " are listed");
  }
  return absl::Status(error.code(), text);
}

SplitIndices DrawSplits(size_t count, double dev_fraction, double test_fraction,
                        uint64_t seed) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  const RandomStream random(seed, "data/images");
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(random.BitsAt(a), a) < std::pair(random.BitsAt(b), b);
  });
  const auto begin_of = [&](double share) {
    return order.begin() +
           std::llround((1 - share) * static_cast<double>(count));
  };
  const auto test = begin_of(test_fraction);
  const auto dev = begin_of(dev_fraction + test_fraction);
  SplitIndices splits = {
      {order.begin(), dev}, {dev, test}, {test, order.end()}};
  for (auto* split : {&splits.train, &splits.dev, &splits.test}) {
    std::sort(split->begin(), split->end());
  }
  return splits;
}

}  // namespace regard
