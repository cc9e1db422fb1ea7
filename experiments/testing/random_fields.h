// Random values of config fields, drawn as the descriptors say.
#ifndef EXPERIMENTS_TESTING_RANDOM_FIELDS_H_
#define EXPERIMENTS_TESTING_RANDOM_FIELDS_H_

#include <cstdint>
#include <random>
#include <set>
#include <string>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace regard::testing {

class RandomFields {
 public:
  // Values that name a file are in `folder`, which ends in a slash.
  explicit RandomFields(std::string folder);

  // Begins the draws of a seed.
  void Seed(uint64_t seed) { random_.seed(seed); }

  // Makes one of `rarity` optional fields present. Without a call, two of three
  // are.
  void set_rarity(int rarity) { rarity_ = rarity; }

  // Draws from [0, bound).
  int64_t Below(int64_t bound);

  // Draws the value of a field that is not repeated.
  void DrawField(google::protobuf::Message* message,
                 const google::protobuf::FieldDescriptor* field);

  // Draws the fields of a message: each member of a oneof alike, other fields
  // present or not.
  void Fill(google::protobuf::Message* message);

 private:
  bool IsPresent() { return rarity_ == 0 ? Below(3) > 0 : Below(rarity_) == 0; }
  // Draws the number of elements of a repeated field.
  int64_t Count() {
    if (rarity_ == 0) return Below(3);
    return IsPresent() ? 1 + Below(2) : 0;
  }

  std::string folder_;
  int rarity_ = 0;
  std::mt19937_64 random_;
};

// Whether every message has the field, as its default is too large.
bool IsAlwaysGiven(const google::protobuf::FieldDescriptor& field);

// Whether fields are drawn at all.
bool IsDrawn(const google::protobuf::FieldDescriptor& field);

// Returns the choices of configs: "regard.Attention.dot" of a oneof,
// "regard.FeedForwardConfig.activation=RELU" of an enum. It leaves out plug-ins
// from outside, and values that only say "not specified".
std::set<std::string> AllChoices(const google::protobuf::Descriptor& type);

// Adds the choices that `message` makes.
void AddChoices(const google::protobuf::Message& message,
                std::set<std::string>* choices);

}  // namespace regard::testing

#endif  // EXPERIMENTS_TESTING_RANDOM_FIELDS_H_
