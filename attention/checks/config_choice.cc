#include "attention/checks/config_choice.h"

#include <vector>

#include "google/protobuf/descriptor.h"

namespace regard {

using ::google::protobuf::Descriptor;
using ::google::protobuf::DescriptorPool;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;

void SetChoice(const Message& options, Message* config) {
  const auto copy_into = [&options](Message* parent,
                                    const FieldDescriptor* field) {
    if (field->message_type() != options.GetDescriptor()) return;
    parent->GetReflection()->MutableMessage(parent, field)->CopyFrom(options);
  };
  const Descriptor& type = *config->GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* const member = type.field(i);
    if (member->real_containing_oneof() == nullptr) continue;
    copy_into(config, member);
    if (member->name() != "outside") continue;
    std::vector<const FieldDescriptor*> extensions;
    DescriptorPool::generated_pool()->FindAllExtensions(member->message_type(),
                                                        &extensions);
    for (const FieldDescriptor* extension : extensions) {
      if (extension->message_type() != options.GetDescriptor()) continue;
      copy_into(config->GetReflection()->MutableMessage(config, member),
                extension);
    }
  }
}

}  // namespace regard
