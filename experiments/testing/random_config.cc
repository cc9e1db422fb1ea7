#include "experiments/testing/random_config.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/images/image_format.pb.h"
#include "data/text/subword_trainer.h"
#include "data/text/subwords.pb.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/testing/random_fields.h"
#include "files/tensorboard/png.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "options/config_fields.h"
#include "options/config_problems.h"
#include "options/reader.h"
#include "third_party/abseil_backport/check.h"

namespace regard::testing {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

// Maximum number of draws and repairs of one config.
constexpr int kMaxRounds = 100;

// Returns the path without its last step, or "" for a single step.
absl::string_view ParentPath(absl::string_view path) {
  const size_t begin = SplitPath(path).back().range.begin;
  return path.substr(0, begin == 0 ? 0 : begin - 1);
}

std::string BigEndian(std::initializer_list<int> numbers) {
  std::string bytes;
  for (const int number : numbers) {
    bytes += {0, 0, static_cast<char>(number >> 8), static_cast<char>(number)};
  }
  return bytes;
}

// Writes images of 8 x 8 pixels in ten classes, in the format of Fashion-MNIST.
void WriteImages(const std::string& folder, const std::string& name,
                 int count) {
  std::string pixels = BigEndian({0x803, count, 8, 8});
  std::string labels = BigEndian({0x801, count});
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < 64; ++j) pixels += static_cast<char>(i % 10 * j);
    labels += static_cast<char>(i % 10);
  }
  std::ofstream(absl::StrCat(folder, name, "-images-idx3-ubyte")) << pixels;
  std::ofstream(absl::StrCat(folder, name, "-labels-idx1-ubyte")) << labels;
}

// Writes the folders classes/a and classes/b with ten PNG files each, and a
// list of them.
void WritePictures(const std::string& folder) {
  std::ofstream lines(folder + "pictures");
  for (const char* label : {"a", "b"}) {
    const std::string of_label = absl::StrCat(folder, "classes/", label);
    std::filesystem::create_directories(of_label);
    for (int i = 0; i < 10; ++i) {
      const std::string path = absl::StrCat(of_label, "/", i, ".png");
      std::ofstream(path) << tensorboard::EncodePng(
          9, 9, std::vector<uint8_t>(9 * 9 * 3, 20 * i));
      lines << path << "\t" << label << "\n";
    }
  }
}

}  // namespace

RandomConfigs::RandomConfigs(std::string folder)
    : folder_(std::move(folder) + "/"),
      plugins_(BuiltInPlugins()),
      random_(folder_) {
  const char* const colours[][2] = {{"red", "rouge"},
                                    {"green", "vert"},
                                    {"blue", "bleu"},
                                    {"white", "blanc"}};
  const char* const animals[][2] = {
      {"lion", "lion"}, {"tiger", "tigre"}, {"zebra", "z\u00e8bre"}};
  std::ofstream source(folder_ + "source"), target(folder_ + "target");
  std::ofstream pairs(folder_ + "pairs"), text(folder_ + "text");
  std::ofstream labels(folder_ + "labels"), words(folder_ + "vocabulary");
  std::ofstream labelled_pairs(folder_ + "labelled_pairs");
  std::ofstream table(folder_ + "table"), scored(folder_ + "scored");
  table << "a,b,c\n";
  for (int i = 0; i < 60; ++i) {
    const auto& colour = colours[i % 4];
    const auto& animal = animals[i / 4 % 3];
    const std::string english = absl::StrCat(i % 5 == 0 ? "two " : "a ",
                                             colour[0], " ", animal[0], " .");
    const std::string french = absl::StrCat(i % 5 == 0 ? "deux " : "un ",
                                            animal[1], " ", colour[1], " .");
    source << english << "\n";
    target << french << "\n";
    pairs << english << "\t" << french << "\t" << colour[0] << "\n";
    text << english << "\n" << (i % 7 == 0 ? "\n" : "");
    table << i % 7 << "," << 0.1 * i << "," << i % 5 - 2 << "\n";
    scored << english << "\t" << colour[0] << "\t" << 0.2 * (i % 6) << "\n";
    labels << animal[0] << "\t" << english << "\n";
    labelled_pairs << animal[0] << "\t" << colour[0] << "\t" << english << "\n";
  }
  words << "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nred\nblue\nlion\nt\n"
           "##wo\n##i\n##g\n##er\n.\n";
  WriteImages(folder_, "train", 60);
  WriteImages(folder_, "t10k", 20);
  WritePictures(folder_);
  for (const auto& [kind, name] :
       {std::pair(SubwordsConfig::BPE, "bpe"),
        std::pair(SubwordsConfig::UNIGRAM, "unigram"),
        std::pair(SubwordsConfig::CHARACTERS, "char")}) {
    SubwordsConfig options;
    options.set_kind(kind);
    options.set_vocabulary_size(30);
    std::string sentences;
    for (const auto& colour : colours) {
      for (const auto& animal : animals) {
        absl::StrAppend(&sentences, "a two ", colour[0], " ", animal[0],
                        " .\nun deux ", animal[1], " ", colour[1], " .\n");
      }
    }
    const auto model = TrainSubwords(options, sentences);
    REGARD_CHECK(model.ok()) << std::string(model.status().message());
    std::ofstream(absl::StrCat(folder_, name, ".model")) << *model;
  }
}

void RandomConfigs::DrawDataAndModel(Experiment* config) {
  const DataSourceInfo* source = nullptr;
  const TaskInfo* task = nullptr;
  for (; source == nullptr; source = plugins_.data.Find(config->data())) {
    config->clear_data();
    random_.Fill(config->mutable_data());
    // Chooses `pairs` more often than other sources, because it has by far the
    // most options.
    if (random_.UniformInt(3) == 0) {
      random_.Fill(config->mutable_data()->mutable_pairs());
    }
  }
  while (task == nullptr || *task->data_type != *source->data_type) {
    config->clear_model();
    random_.Fill(config->mutable_model());
    task = plugins_.tasks.Find(config->model());
  }
}

// Makes images small, because images of the default size would take minutes.
void KeepSmall(ImageFormat* format) {
  if (!format->has_height()) format->set_height(8);
  if (!format->has_width()) format->set_width(8);
}

// Sets the paths of the files that a data source reads.
void RandomConfigs::NameFiles(Experiment* config) const {
  Data& data = *config->mutable_data();
  const auto name = [this](PairFilesConfig& files) {
    if (files.has_path()) return;
    files.set_source(folder_ + "source");
    files.set_target(folder_ + "target");
  };
  if (data.pairs().has_train()) name(*data.mutable_pairs()->mutable_train());
  if (data.pairs().has_dev()) name(*data.mutable_pairs()->mutable_dev());
  for (int i = 0; i < data.pairs().test_size(); ++i) {
    name(*data.mutable_pairs()->mutable_test(i));
  }
  data.clear_path();
  data.clear_dev_path();
  if (data.has_pairs() && !data.pairs().has_train()) {
    data.set_path(folder_ + "pairs");
  } else if (data.has_text()) {
    data.set_path(folder_ + "text");
    if (config->seed() == 0) data.set_dev_path(folder_ + "source");
  } else if (data.has_labelled_text()) {
    data.set_path(folder_ +
                  (config->seed() == 0 ? "labelled_pairs" : "labels"));
  } else if (data.has_scored_pairs()) {
    data.set_path(folder_ + "scored");
  } else if (data.has_table()) {
    data.set_path(folder_ + "table");
  } else if (data.has_images()) {
    data.mutable_images()->set_path(folder_ + "classes");
    KeepSmall(data.mutable_images()->mutable_format());
  } else if (data.has_captions() && data.captions().has_list()) {
    KeepSmall(data.mutable_captions()->mutable_format());
  } else if (data.has_fashion_mnist() ||
             (data.has_captions() &&
              data.captions().things() == CaptionsConfig::FASHION_MNIST)) {
    data.set_path(folder_);
  }
}

// Draws the field at `path` again or removes it. Sometimes uses an enclosing
// field instead.
bool RandomConfigs::RedrawOrRemoveField(Experiment* config,
                                        absl::string_view path) {
  while (!ParentPath(path).empty() && random_.UniformInt(5) == 0) {
    path = ParentPath(path);
  }
  if (path.empty()) return false;
  Message* message = config;
  const FieldDescriptor* field = nullptr;
  int index = -1;
  for (const PathStep& step : SplitPath(path)) {
    if (field != nullptr) {
      const Reflection& fields = *message->GetReflection();
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return false;
      // If a problem concerns two merged messages, only one of them may contain
      // the field.
      const bool is_there =
          field->is_repeated()
              ? index >= 0 && index < fields.FieldSize(*message, field)
              : fields.HasField(*message, field);
      if (!is_there) break;
      message = field->is_repeated()
                    ? fields.MutableRepeatedMessage(message, field, index)
                    : fields.MutableMessage(message, field);
    }
    field = FindField(*message->GetDescriptor(), step.name);
    if (field == nullptr) return false;
    index = step.index.value_or(-1);
  }
  const Reflection& fields = *message->GetReflection();
  if (field->is_repeated() || !IsDrawn(*field) ||
      (fields.HasField(*message, field) && !IsAlwaysGiven(*field) &&
       random_.UniformInt(3) > 0)) {
    fields.ClearField(message, field);
  } else {
    random_.DrawField(message, field);
  }
  return true;
}

bool RandomConfigs::FixAllProblems(Experiment* config) {
  for (int round = 0; round < kMaxRounds; ++round) {
    NameFiles(config);
    ConfigProblems problems;
    ValidateExperiment(*config, plugins_, problems);
    if (problems.ok()) {
      const auto task = BuildTask(*config, plugins_);
      if (!task.ok()) return false;
      ValidateTask(**task, *config, problems);
      ValidateWatchedMetrics(**task, *config, plugins_, problems);
      if (problems.ok()) return true;
    }
    if (!RedrawOrRemoveField(config, problems.problems()[0].path)) return false;
    const TaskInfo* const task = plugins_.tasks.Find(config->model());
    const DataSourceInfo* const source = plugins_.data.Find(config->data());
    if (task == nullptr || source == nullptr ||
        *task->data_type != *source->data_type) {
      DrawDataAndModel(config);
    }
  }
  return false;
}

Experiment RandomConfigs::Draw(uint64_t seed) {
  for (uint64_t attempt = 0;; ++attempt) {
    random_.Seed(seed * 1000 + attempt);
    Experiment config;
    random_.Fill(&config);
    DrawDataAndModel(&config);
    if (FixAllProblems(&config)) return config;
    ++rejections_;
  }
}

}  // namespace regard::testing
