// Tests the data sources that read images and captions from files.
#include "data/images/image_list.h"

#include <png.h>

#include <algorithm>
#include <any>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "data/data.pb.h"
#include "data/data_source.h"
#include "data/images/caption_set.h"
#include "data/images/image_format.pb.h"
#include "data/images/image_set.h"
#include "data/images/image_source.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {

REGARD_DATA_SOURCES(CaptionSource);
REGARD_DATA_SOURCES(ImageSource);

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// A folder with cats/0.png .. 5.png and dogs/0.png .. 5.png of 1 x 2 pixels.
class ImageListTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = JoinPath(
        ::testing::TempDir(),
        ::testing::UnitTest::GetInstance()->current_test_info()->name());
    for (const char* label : {"cats", "dogs"}) {
      ASSERT_THAT(MakeDirectories(JoinPath(folder_, label), SystemFiles()),
                  IsOk());
      for (uint8_t i = 0; i < 6; ++i) {
        png_image png = {};
        png.version = PNG_IMAGE_VERSION;
        png.format = PNG_FORMAT_GRAY;
        png.height = 1;
        png.width = 2;
        const uint8_t pixels[] = {static_cast<uint8_t>(label[0]), i};
        ASSERT_NE(png_image_write_to_file(
                      &png, Path(absl::StrCat(label, "/", i, ".png")).c_str(),
                      0, pixels, 0, nullptr),
                  0);
      }
    }
  }

  std::string Path(absl::string_view name) const {
    return JoinPath(folder_, name);
  }
  std::string Write(absl::string_view name, absl::string_view text) const {
    EXPECT_THAT(WriteFileAtomically(Path(name), text), IsOk());
    return Path(name);
  }

  static absl::StatusOr<std::any> LoadAny(const std::string& config,
                                          uint64_t seed = 1) {
    DataSourceRegistry sources;
    RegisterCaptionSourceInDataSourceRegistry(sources);
    RegisterImageSourceInDataSourceRegistry(sources);
    Data data;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(config, &data));
    return sources.Create(data)->LoadAny({.path = data.path(), .seed = seed});
  }
  template <typename D>
  static D Load(const std::string& config, uint64_t seed = 1) {
    absl::StatusOr<std::any> data = LoadAny(config, seed);
    EXPECT_TRUE(data.ok()) << data.status();
    return std::any_cast<D>(*std::move(data));
  }
  static std::string Error(const std::string& config) {
    return std::string(LoadAny(config).status().message());
  }

  std::string folder_;
};

constexpr char kFormat[] = "format { height: 1 width: 2 grey: true }";

TEST_F(ImageListTest, FoldersAreClasses) {
  Write("cats/notes.txt", "no image");
  const std::string config = absl::StrCat(
      "path: '", folder_, "' images { test_fraction: 0.25 ", kFormat, " }");
  const auto data = Load<ImageData>(config);
  const ImageSplits& splits = data.splits;
  EXPECT_THAT(splits.classes, ElementsAre("cats", "dogs"));
  EXPECT_EQ(splits.train.size(), 8);
  EXPECT_EQ(splits.dev.size(), 1);
  EXPECT_EQ(splits.test.size(), 3);
  int dogs = 0;
  for (const ImageSet* set : {&splits.train, &splits.dev, &splits.test}) {
    EXPECT_EQ(set->shape, (ImageShape{1, 1, 2}));
    for (int64_t i = 0; i < set->size(); ++i) {
      EXPECT_EQ(set->image(i)[0], set->labels[i] == 0 ? 'c' : 'd');
      dogs += set->labels[i];
    }
  }
  EXPECT_EQ(dogs, 6);
  EXPECT_EQ(Load<ImageData>(config).splits.train.pixels, splits.train.pixels);
  EXPECT_NE(Load<ImageData>(config, 2).splits.train.pixels,
            splits.train.pixels);
  EXPECT_THAT(data.digests, SizeIs(1));
}

TEST_F(ImageListTest, FilesBesideTheFoldersAreNotClasses) {
  Write("notes.txt", "no folder");
  std::filesystem::create_symlink("nowhere", Path("broken"));
  EXPECT_THAT(Load<ImageData>(absl::StrCat("path: '", folder_, "' images { ",
                                           kFormat, " }"))
                  .splits.classes,
              ElementsAre("cats", "dogs"));
}

// The file system, with a disk error for one path.
class BadPath : public FileOperations {
 public:
  explicit BadPath(std::string path) : path_(std::move(path)) {}

  int Open(const std::string& path, int flags) override {
    if (path != path_) return FileOperations::Open(path, flags);
    errno = EIO;
    return -1;
  }

 private:
  const std::string path_;
};

// Each directory and each file in turn has a disk error, which must be reported
// as a failure of the machine.
TEST_F(ImageListTest, DiskErrorsAreMachineFailures) {
  static FileOperations system;
  const std::string config =
      absl::StrCat("path: '", folder_, "' images { ", kFormat, " }");
  std::vector<std::string> paths = {folder_};
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder_)) {
    paths.push_back(entry.path().string());
  }
  EXPECT_THAT(paths, SizeIs(3 + 12));
  for (const std::string& path : paths) {
    BadPath bad(path);
    ReplaceSystemFilesForTest(bad);
    const absl::Status status = LoadAny(config).status();
    ReplaceSystemFilesForTest(system);
    EXPECT_TRUE(IsMachineFailure(status)) << path << ": " << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("error: "), HasSubstr(path),
                      HasSubstr("Input/output error")));
  }
}

TEST_F(ImageListTest, HiddenFoldersAreNotClasses) {
  for (const char* hidden :
       {"__MACOSX", ".thumbnails", "@eaDir", "$RECYCLE.BIN"}) {
    std::filesystem::create_directory(Path(hidden));
    std::filesystem::copy(Path("cats/0.png"), JoinPath(Path(hidden), "0.png"));
  }
  // macOS writes this file. It is not an image.
  Write("cats/._0.png", "resource fork");
  Write("cats/Thumbs.db", "thumbnails");
  Write("dogs/desktop.ini", "settings");
  const auto data = Load<ImageData>(
      absl::StrCat("path: '", folder_, "' images { ", kFormat, " }"));
  EXPECT_THAT(data.splits.classes, ElementsAre("cats", "dogs"));
  EXPECT_THAT(data.notes, IsEmpty());
}

TEST_F(ImageListTest, SaysWhichFoldersAndFilesAreNotRead) {
  for (const char* folder : {"birds", "empty"}) {
    std::filesystem::create_directory(Path(folder));
  }
  Write("birds/0.webp", "an image of another kind");
  Write("cats/notes.txt", "no image");
  const auto data = Load<ImageData>(
      absl::StrCat("path: '", folder_, "' images { ", kFormat, " }"));
  EXPECT_THAT(data.splits.classes, ElementsAre("cats", "dogs"));
  EXPECT_THAT(
      data.notes,
      ElementsAre(
          absl::StrCat(folder_,
                       ": ignored folders without images: 'birds', 'empty'"),
          absl::StrCat(folder_,
                       ": ignored 2 files whose names do not end in .png, .jpg "
                       "or .jpeg: 'birds/0.webp', 'cats/notes.txt'")));
}

// The error must list the first 20 bad images, the number of all bad images,
// and the classes that have no good image.
TEST_F(ImageListTest, NamesBadImages) {
  std::filesystem::create_directory(Path("birds"));
  for (int i = 10; i < 35; ++i) {
    Write(absl::StrCat("birds/", i, ".png"), "no image");
  }
  const std::string config =
      absl::StrCat("path: '", folder_, "' images { ", kFormat, " }");
  const std::string all = Error(config);
  EXPECT_THAT(all, StartsWith(absl::StrCat(folder_, ": error: '",
                                           Path("birds/10.png"), "': ")));
  EXPECT_THAT(
      all,
      AllOf(HasSubstr("birds/29.png"), Not(HasSubstr("birds/30.png")),
            HasSubstr("\nerror: 25 of 37 images cannot be read; the first 20 "
                      "are listed\n"),
            EndsWith("\nerror: each class requires at least one image that can "
                     "be read; none can be read in 'birds'")));
  for (int i = 11; i < 35; ++i) {
    std::filesystem::remove(Path(absl::StrCat("birds/", i, ".png")));
  }
  std::filesystem::copy(Path("cats/0.png"), Path("birds/11.png"));
  EXPECT_THAT(Error(config),
              AllOf(HasSubstr("birds/10.png"), Not(HasSubstr("\n"))));
  const std::string list =
      Write("list.tsv", "birds/10.png\ta\ncats/0.png\tb\nnone.png\tb\n");
  for (const std::string source :
       {"images { labels: '", "captions { list: '"}) {
    EXPECT_THAT(Error(absl::StrCat(source, list, "' ", kFormat, " }")),
                AllOf(StartsWith(absl::StrCat(list, ":1:1: error: '")),
                      HasSubstr(absl::StrCat("\n", list, ":3:1: error: '")),
                      HasSubstr("\nerror: 2 of 3 images cannot be read")));
  }
}

TEST_F(ImageListTest, AllImagesMayBeTest) {
  EXPECT_THAT(Error("images { dev_fraction: 0 test_fraction: 1 }"),
              StartsWith("error: data.path names no folder of images; set "));
  const ImageSplits splits =
      Load<ImageData>(absl::StrCat("path: '", folder_,
                                   "' images { dev_fraction: 0 test_fraction: "
                                   "1 ",
                                   kFormat, " }"))
          .splits;
  EXPECT_EQ(splits.train.size(), 0);
  EXPECT_EQ(splits.train.shape, (ImageShape{1, 1, 2}));
  EXPECT_EQ(splits.dev.size(), 0);
  EXPECT_EQ(splits.test.size(), 12);
}

TEST_F(ImageListTest, AListNamesFilesAndLabels) {
  const std::string list = Write(
      "list.tsv",
      "cats/0.png\tsleepy\ndogs/1.png\tawake\n \u3000\ncats/2.png\tawake");
  const auto data = Load<ImageData>(
      absl::StrCat("images { labels: '", list,
                   "' dev_fraction: 0 test_fraction: 0 ", kFormat, " }"));
  EXPECT_THAT(data.splits.classes, ElementsAre("awake", "sleepy"));
  EXPECT_THAT(data.splits.train.labels, ElementsAre(1, 0, 0));
  EXPECT_THAT(data.splits.train.pixels, ElementsAre('c', 0, 'd', 1, 'c', 2));
  EXPECT_THAT(data.digests, SizeIs(2));
  // `path` sets another directory to which the names are relative.
  Write("cats/list.tsv", "0.png\ta\n1.png\tb");
  EXPECT_EQ(Error(absl::StrCat("images { path: '", Path("dogs"), "' labels: '",
                               Path("cats/list.tsv"), "' ", kFormat, " }")),
            "");
}

TEST_F(ImageListTest, ErrorsAreLocated) {
  const auto error = [&](const std::string& lines) {
    const std::string list = Write("list.tsv", lines);
    std::string found =
        Error(absl::StrCat("images { labels: '", list, "' ", kFormat, " }"));
    EXPECT_THAT(found, StartsWith(list));
    return found.substr(list.size());
  };
  EXPECT_THAT(error("cats/0.png\ta\ncats/1.png a"),
              StartsWith(":2:13: error: expected the path of an image, a tab"));
  EXPECT_THAT(error("\ta"), StartsWith(":1:1: error: expected the path of"));
  EXPECT_THAT(error("cats/0.png\ta\tb"),
              StartsWith(":1:12: error: the label must not contain a tab"));
  EXPECT_THAT(error("cats/0.png\ta\nnone.png\tb"),
              HasSubstr("none.png': cannot read a PNG or JPEG file: "));
  EXPECT_THAT(error("cats/0.png\ta\nlist.tsv\tb"),
              StartsWith(absl::StrCat(":2:1: error: '", Path("list.tsv"),
                                      "': must be a PNG or JPEG file")));
  EXPECT_THAT(error("cats/0.png\ta"), HasSubstr(" 1 images of 1 classes"));
  EXPECT_THAT(Error(absl::StrCat("path: '", Path("nowhere"), "' images {}")),
              HasSubstr("nowhere"));
}

TEST_F(ImageListTest, ALineIsASentenceOfAnImage) {
  const std::string list = Write(
      "list.tsv", "cats/1.png\ta cat\ndogs/2.png\tone  dog\ncats/1.png\ttwo\n");
  const auto data = Load<CaptionData>(
      absl::StrCat("captions { list: '", list, "' prompt: 'see' ",
                   "dev_fraction: 0 test_fraction: 0 ", kFormat, " }"));
  const CaptionSet& set = data.splits.train;
  EXPECT_EQ(set.size(), 2);
  EXPECT_THAT(set.images.pixels, ElementsAre('c', 1, 'd', 2));
  EXPECT_FALSE(set.points());
  ASSERT_THAT(set.captions, SizeIs(3));
  ASSERT_THAT(set.of(0), SizeIs(2));
  EXPECT_THAT(set.of(0)[0].words, ElementsAre("see", "a", "cat"));
  EXPECT_THAT(set.of(0)[1].words, ElementsAre("see", "two"));
  ASSERT_THAT(set.of(1), SizeIs(1));
  EXPECT_THAT(set.of(1)[0].words, ElementsAre("see", "one", "dog"));
  EXPECT_THAT(set.of(2), SizeIs(0));
  Write("list.tsv", "cats/1.png\t \n");
  EXPECT_EQ(Error(absl::StrCat("captions { list: '", list, "' }")),
            list + ":1:12: error: the sentence must have at least one word");
  Write("list.tsv", "cats/1.png\tx\n");
  EXPECT_THAT(
      Error(absl::StrCat("captions { list: '", list, "' test_fraction: 0.8 }")),
      HasSubstr("error: 1 images leave none to train on; lower"));
}

TEST_F(ImageListTest, AnImageOutsideOfTheFolderNeedsARoot) {
  const auto error = [&](const std::string& name, const std::string& root) {
    const std::string list =
        Write("cats/list.tsv", absl::StrCat("0.png\ta\n", name, "\tb\n"));
    const std::string rest = absl::StrCat(
        list, "'", root.empty() ? "" : absl::StrCat(" root: '", root, "'"), " ",
        kFormat, " dev_fraction: 0 test_fraction: 0 }");
    const std::string captions =
        Error(absl::StrCat("captions { list: '", rest));
    std::string labels = Error(absl::StrCat("images { labels: '", rest));
    EXPECT_EQ(captions.empty(), labels.empty()) << captions;
    if (!captions.empty()) {
      EXPECT_THAT(captions, HasSubstr("or set data.captions.root to a"));
    }
    return labels;
  };
  EXPECT_EQ(error("../cats/1.png", ""), "");
  EXPECT_EQ(error(Path("cats/1.png"), ""), "");
  EXPECT_EQ(error("../dogs/0.png", ""),
            absl::StrCat(Path("cats/list.tsv"),
                         ":2:1: error: '../dogs/0.png' is "
                         "outside of '",
                         Path("cats/"),
                         "': move the image there, or set data.images.root to "
                         "a folder that holds all images"));
  EXPECT_THAT(error(Path("dogs/0.png"), ""), HasSubstr("outside of"));
  EXPECT_THAT(error("../cats/../dogs/0.png", Path("cats")),
              HasSubstr("outside of"));
  EXPECT_EQ(error("../dogs/0.png", folder_), "");
  EXPECT_EQ(error("../dogs/0.png", "/"), "");
}

// Each split takes less than the limit, but all splits together take more,
// which must be an error.
TEST_F(ImageListTest, AllPixelsOfAllSplitsAreCapped) {
  std::string lines;
  for (int i = 0; i < 22; ++i) {
    absl::StrAppend(&lines, "no file ", i, "\t", i % 2, "\n");
  }
  const std::string list = Write("list.tsv", lines);
  for (const char* source : {"images { labels", "captions { list"}) {
    EXPECT_THAT(Error(absl::StrCat(source, ": '", list,
                                   "' format { height: 4096 width: 4096 } "
                                   "dev_fraction: 0.3 test_fraction: 0.3 }")),
                HasSubstr(":1:1: error: 22 images of 50331648 bytes each "
                          "exceed the limit of 1073741824 bytes in total; use "
                          "fewer images or a smaller `format`"));
  }
}

TEST(ReadImagesTest, AllPixelsAreCapped) {
  ImageFormat format;
  format.set_height(4096);
  format.set_width(4096);
  std::string digests;
  BadImages bad;
  EXPECT_EQ(
      ReadImages(std::vector<ListedImagePath>(22, {"no file", "list:1:1"}),
                 format, &digests, &bad)
          .status()
          .message(),
      "list:1:1: error: 22 images of 50331648 bytes each exceed the limit of "
      "1073741824 bytes in total; use fewer images or a smaller `format`");
}

TEST(DrawSplitsTest, FractionsAreOfTheTotal) {
  const SplitIndices order = DrawSplits(20, 0.2, 0.1, /*seed=*/1);
  EXPECT_THAT(order.train, SizeIs(14));
  EXPECT_THAT(order.dev, SizeIs(4));
  EXPECT_THAT(order.test, SizeIs(2));
  EXPECT_TRUE(std::is_sorted(order.train.begin(), order.train.end()));
  EXPECT_NE(order.train, DrawSplits(20, 0.2, 0.1, /*seed=*/2).train);
  EXPECT_THAT(DrawSplits(0, 0.2, 0.1, /*seed=*/1).train, SizeIs(0));
}

TEST(UseClassesTest, UsesTheLabelsOfTheModel) {
  ImageSplits data = {.train = {.labels = {0, 1, 0}},
                      .dev = {},
                      .test = {.labels = {1}},
                      .classes = {"a", "c"}};
  ASSERT_THAT(ReplaceClasses({"c", "b", "a"}, &data), IsOk());
  EXPECT_THAT(data.train.labels, ElementsAre(2, 0, 2));
  EXPECT_THAT(data.test.labels, ElementsAre(0));
  EXPECT_EQ(ReplaceClasses({"a"}, &data).message(),
            "error: data: the model does not know class 'c'; it knows a");
}

}  // namespace
}  // namespace regard
