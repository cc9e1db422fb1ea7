"""Makes the page about config fields from the comments of the protos."""

import markdown

_ROOTS = ("regard.Experiment", "regard.Sweep")

# The page that shows how to write a plug-in of each kind.
_HOW_TO = {
    "OutsideData": "add_a_task.md",
    "OutsideHeadOutput": "add_a_head_output.md",
    "OutsideKeySelection": "add_a_head_output.md",
    "OutsideMixer": "mixers.md",
    "OutsideModel": "add_a_task.md",
    "OutsideNormalizer": "add_a_head_output.md",
    "OutsideScore": "add_a_score.md",
    "OutsideScoreMap": "add_a_head_output.md",
}


def _link(name):
    return f"[{name}](#{name.lower()})"


class ConfigPage:

    def __init__(self, descriptors):
        self._messages = descriptors.messages
        self._enums = descriptors.enums
        self.paths = {}  # the shortest path of each reachable message
        self._used = {}  # links to the fields of this type
        for root in _ROOTS:
            self._find_paths(root)

    def _find_paths(self, root):
        self.paths[root] = ""
        queue = [root]
        for name in queue:
            message = self._messages[name]
            for field in message.fields:
                if field.type != "message":
                    continue
                self._used.setdefault(field.type_name, []).append(
                    f"{_link(message.name)}.{field.name}")
                if field.type_name in self.paths:
                    continue
                self.paths[field.type_name] = ".".join(
                    filter(None, [self.paths[name], field.name])) + (
                        "[i]" if field.repeated else "")
                queue.append(field.type_name)

    def text(self, notes):
        lines = [notes.pop("Introduction"), "", "## Contents", ""]
        body = []
        shown = set()
        for root in _ROOTS:
            message = self._messages[root]
            groups = [(f"{message.name}", [root])]
            shown.add(root)
            for field in message.fields:
                names = []
                if field.type == "message":
                    self._collect(field.type_name, shown, names)
                if names:
                    groups.append((f"Fields of {field.name}", names))
            for title, names in groups:
                link = title.lower().replace(" ", "-")
                contents = ", ".join(_link(self._messages[name].name)
                                     for name in names)
                lines.append(f"* [{title}](#{link})" +
                             (f": {contents}" if names != [root] else ""))
                if names != [root]:
                    body += [f"## {title}", ""]
                for name in names:
                    body += self._section(name, "##" if name == root else "###")
        lines += ["* [Plug-ins](#plug-ins)", ""]
        return "\n".join(lines + body + self._plugins()).rstrip() + "\n"

    def _collect(self, name, shown, names):
        if name in shown:
            return
        shown.add(name)
        names.append(name)
        for field in self._messages[name].fields:
            if field.type == "message":
                self._collect(field.type_name, shown, names)

    def _section(self, name, level):
        message = self._messages[name]
        lines = [f"{level} {message.name}", ""]
        for part in markdown.paragraphs(message.comment):
            lines += [part, ""]
        places = []
        if self.paths[name]:
            places.append(f"Path: `{self.paths[name]}`.")
        users = self._used.get(name, [])
        if len(users) > 1:
            places.append(f"Fields of this type: {', '.join(users)}.")
        if places:
            lines += [" ".join(places), ""]
        lines += markdown.table(
            ["field", "type", "default", "range", "meaning"],
            [self._row(field) for field in message.fields if not field.oneof])
        for oneof, comment in message.oneofs.items():
            members = [f for f in message.fields if f.oneof == oneof]
            about = " ".join(markdown.paragraphs(comment))
            lines += [f"Choice `{oneof}`: {about or 'at most one of these.'}",
                      ""]
            lines += markdown.table(
                ["field", "type", "meaning"],
                [[f"`{f.name}`", self._type(f), self._meaning(f)]
                 for f in members])
        if message.extensible and message.name in _HOW_TO:
            page = _HOW_TO[message.name]
            lines += [f"[How to write one](../{page}).", ""]
        return lines

    def _row(self, field):
        return [f"`{field.name}`", self._type(field), self._default(field),
                field.range, self._meaning(field)]

    def _type(self, field):
        kind = field.type
        if kind == "message":
            kind = _link(self._messages[field.type_name].name)
        return f"list of {kind}" if field.repeated else kind

    def _default(self, field):
        if field.default is None:
            return ""
        if field.type == "string":
            return f'`"{field.default}"`'
        return markdown.code(field.default)

    def _meaning(self, field):
        comment = field.comment
        if not comment and field.type == "message":
            comment = self._messages[field.type_name].comment.split("\n\n")[0]
        parts = markdown.paragraphs(comment)
        if field.type == "enum":
            parts += [
                f"• `{name}`" + (f": {' '.join(markdown.paragraphs(about))}"
                                 if about else "")
                for name, about in self._enums[field.type_name].values
            ]
        if field.former_name:
            parts.append(f"Former name: `{field.former_name}`.")
        return "<br>".join(parts)

    def _plugins(self):
        lines = [
            "## Plug-ins", "",
            "Each of these choices is a registry of plug-ins. A repository of "
            "your own can add a plug-in.",
            "Its options are an extension of the last message, as in "
            "`outside { [lab.my_score] { width: 8 } }`.", ""]
        rows = []
        for name, path in self.paths.items():
            message = self._messages[name]
            for field in message.fields:
                if field.name != "outside":
                    continue
                members = [f"`{f.name}`" for f in message.fields
                           if f.oneof == field.oneof and f is not field]
                outside = self._messages[field.type_name].name
                page = _HOW_TO.get(outside)
                rows.append([
                    f"`{field.oneof}` of {_link(message.name)}",
                    markdown.code(path), ", ".join(members), _link(outside) +
                    (f" ([how to](../{page}))" if page else "")])
        return lines + markdown.table(
            ["choice", "path", "members", "extended message"], rows)
