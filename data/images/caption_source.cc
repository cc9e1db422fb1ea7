#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "data/data_source.h"
#include "data/images/canvases.h"
#include "data/images/caption_set.h"
#include "data/images/captions.pb.h"
#include "data/images/image_format.h"
#include "data/images/image_list.h"
#include "data/images/image_set.h"
#include "data/images/image_source.h"
#include "data/images/images.pb.h"
#include "data/text/prepared_text.h"
#include "files/file.h"
#include "files/sha256.h"
#include "options/config_problems.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// The maximum total number of pixels of the canvases.
constexpr int64_t kMaxPixels = int64_t{1} << 30;
constexpr TextRules kRules = {.words = WordPreparation::kAsWritten};

class CaptionsSource
    : public WithOptions<DataSource<CaptionData>, CaptionsConfig> {
 public:
  using WithOptions::WithOptions;
  static DataPathRequirement Path(const Options& options) {
    return options.has_list() || options.things() == Options::SHAPES
               ? DataPathRequirement::kNone
               : DataPathRequirement::kOptional;
  }

  static void Validate(const Options& options, ConfigProblems& problems) {
    problems.CheckOwnRanges(options);
    if (options.dev_fraction() + options.test_fraction() > 1) {
      problems.Add("test_fraction",
                   absl::StrCat("must be at most 1 - `dev_fraction` (",
                                1 - options.dev_fraction(), ")"));
    }
    {
      const ConfigProblems::Scope scope(problems, "format");
      ValidateImageFormat(options.format(), problems);
    }
    if (options.has_list()) return;
    const auto needs_list = [&](bool present, const char* field) {
      if (present) problems.Note(field, "has no effect without `list`");
    };
    needs_list(options.has_format(), "format");
    needs_list(options.has_root(), "root");
    needs_list(options.dev_fraction() != Options().dev_fraction(),
               "dev_fraction");
    needs_list(options.test_fraction() != Options().test_fraction(),
               "test_fraction");
    if (options.things() != Options::SHAPES) return;
    const std::string problem = TooMany(options, options.side());
    if (!problem.empty()) problems.Add("train", problem);
  }

  absl::StatusOr<CaptionData> Load(const DataRequest& request) const override {
    if (options_.has_list()) return LoadList(request);
    CaptionData data;
    if (options_.things() == Options::SHAPES) {
      const DrawableObjects objects =
          ShapeObjects(options_.side(), request.seed);
      MakeSplits(objects, objects, request.seed, &data.splits);
      return data;
    }
    FashionMnistConfig all;
    all.set_dev(0);
    REGARD_ASSIGN_OR_RETURN(ImageData images,
                            ReadFashionMnist(request.path, all));
    const ImageShape& shape = images.splits.train.shape;
    if (shape.height != shape.width) {
      return absl::InvalidArgumentError(absl::StrCat(
          "error: data.path: images of ", shape.height, " x ", shape.width,
          " pixels do not fit square quadrants; use square images"));
    }
    const std::string problem = TooMany(options_, shape.height);
    if (!problem.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("error: data.captions.train: ", problem));
    }
    const std::vector<std::string> kinds = {"t-shirt", "trousers", "dress",
                                            "coat",    "sandal",   "sneaker",
                                            "bag",     "boot"};
    const ImageSplits& splits = images.splits;
    REGARD_ASSIGN_OR_RETURN(
        const DrawableObjects train,
        ImageObjects(splits.train, splits.classes, kinds, request.seed,
                     "error: data.path: the training images"));
    REGARD_ASSIGN_OR_RETURN(
        const DrawableObjects test,
        ImageObjects(splits.test, splits.classes, kinds, request.seed,
                     "error: data.path: the test images"));
    MakeSplits(train, test, request.seed, &data.splits);
    data.digests = std::move(images.digests);
    return data;
  }

 private:
  // Loads the user's images with the sentences of a list.
  absl::StatusOr<CaptionData> LoadList(const DataRequest& request) const {
    CaptionData data;
    if (options_.list().empty()) {
      return absl::InvalidArgumentError(
          "error: data.captions.list names no file; set it with --set "
          "data.captions.list=FILE. Each line of the file is the path of an "
          "image, a tab and a sentence");
    }
    std::vector<ListedImagePath> images;
    std::map<std::string, size_t> numbers;       // index of each image, by path
    std::vector<std::vector<Caption>> captions;  // captions of each image
    const std::vector<std::string> prompt = PromptWords();
    const auto add = [&](ListedImagePath image, absl::string_view text) {
      Caption caption = {.words = prompt};
      for (std::string& word : PrepareWords(text, kRules)) {
        caption.words.push_back(std::move(word));
      }
      if (caption.words.size() == prompt.size()) {
        return absl::InvalidArgumentError(
            "the sentence must have at least one word");
      }
      caption.quadrants.assign(caption.words.size(), -1);
      const auto [found, is_new] =
          numbers.try_emplace(image.path, images.size());
      if (is_new) {
        images.push_back(std::move(image));
        captions.emplace_back();
      }
      captions[found->second].push_back(std::move(caption));
      return absl::OkStatus();
    };
    REGARD_ASSIGN_OR_RETURN(
        data.digests["data.captions.list"],
        ReadImageList({.path = ResolveUserPath(options_.list()),
                       .what = "list of captions",
                       .folder = "",
                       .root = RootOf(options_),
                       .root_field = "data.captions.root"},
                      add));
    REGARD_RETURN_IF_ERROR(CheckImageBytes(images, options_.format()));
    const SplitIndices order =
        DrawSplits(images.size(), options_.dev_fraction(),
                   options_.test_fraction(), request.seed);
    if (order.train.empty() &&
        options_.dev_fraction() + options_.test_fraction() < 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          options_.list(), ": error: ", images.size(),
          " images leave none to train on; lower data.captions.dev_fraction or "
          "data.captions.test_fraction"));
    }
    std::string digests;
    BadImages bad;
    const auto read =
        [&](const std::vector<size_t>& chosen) -> absl::StatusOr<CaptionSet> {
      CaptionSet set;
      std::vector<ListedImagePath> files;
      for (const size_t i : chosen) {
        for (Caption& caption : captions[i]) {
          caption.image = std::ssize(files);
          set.captions.push_back(std::move(caption));
        }
        files.push_back(images[i]);
      }
      REGARD_ASSIGN_OR_RETURN(
          set.images, ReadImages(files, options_.format(), &digests, &bad));
      return set;
    };
    REGARD_ASSIGN_OR_RETURN(data.splits.train, read(order.train));
    REGARD_ASSIGN_OR_RETURN(data.splits.dev, read(order.dev));
    REGARD_ASSIGN_OR_RETURN(data.splits.test, read(order.test));
    REGARD_RETURN_IF_ERROR(BadImagesError(images, bad));
    data.digests["data.captions"] = Sha256Hex(digests);
    return data;
  }

  std::vector<std::string> PromptWords() const {
    return PrepareWords(options_.prompt(), kRules);
  }

  // Returns an error text if there are too many canvases with this `side`.
  // Otherwise, returns "".
  static std::string TooMany(const Options& options, int64_t side) {
    const int64_t canvases =
        int64_t{options.train()} + options.dev() + options.test();
    const int64_t most = kMaxPixels / (4 * side * side);
    if (canvases <= most) return "";
    return absl::StrCat("makes ", canvases, " canvases; at most ", most,
                        " canvases of ", 2 * side, " x ", 2 * side,
                        " pixels are allowed");
  }

  void MakeSplits(const DrawableObjects& train, const DrawableObjects& test,
                  uint64_t seed, CaptionSplits* splits) const {
    const KindTripleSplits triples =
        SplitKindTriples(static_cast<int32_t>(train.names.size()), seed);
    const std::vector<std::string> prompt = PromptWords();
    splits->train = MakeCanvases(options_.train(), train, triples.train, prompt,
                                 seed, "train");
    splits->dev =
        MakeCanvases(options_.dev(), train, triples.dev, prompt, seed, "dev");
    splits->test =
        MakeCanvases(options_.test(), test, triples.test, prompt, seed, "test");
  }
};

}  // namespace

REGARD_DATA_SOURCES(CaptionSource) {
  sources.Add<CaptionsSource>(
      "images and their captions, from files or generated");
}

}  // namespace regard
