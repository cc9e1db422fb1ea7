"""Rules that collect the sources of the reference pages."""

def _descriptor_set_impl(ctx):
    # buildifier: disable=native-proto-info
    proto = ctx.attr.proto[ProtoInfo]
    out = ctx.actions.declare_file(ctx.label.name + ".pb")
    arguments = ctx.actions.args()
    arguments.add("--include_imports")
    arguments.add("--include_source_info")
    arguments.add(out, format = "--descriptor_set_out=%s")
    arguments.add_all(proto.transitive_proto_path, format_each = "--proto_path=%s")
    arguments.add_all(proto.direct_sources)
    ctx.actions.run(
        executable = ctx.executable._protoc,
        arguments = [arguments],
        inputs = proto.transitive_sources,
        outputs = [out],
        mnemonic = "DescriptorSet",
    )
    return [DefaultInfo(
        files = depset([out]),
        runfiles = ctx.runfiles(files = [out]),
    )]

descriptor_set = rule(
    doc = "A FileDescriptorSet of a proto_library and its imports, with comments.",
    implementation = _descriptor_set_impl,
    attrs = {
        # buildifier: disable=native-proto-info
        "proto": attr.label(mandatory = True, providers = [ProtoInfo]),
        "_protoc": attr.label(
            default = "@com_google_protobuf//:protoc",
            executable = True,
            cfg = "exec",
        ),
    },
)

_HeadersInfo = provider(
    doc = "The headers of a library.",
    fields = {
        "own": "those in its `hdrs`",
        "public": "`own`, and those of its direct dependencies",
    },
)

def _headers_aspect_impl(target, ctx):
    own = []

    # buildifier: disable=native-cc-info
    if CcInfo in target:
        # buildifier: disable=native-cc-info
        context = target[CcInfo].compilation_context
        own = [
            header
            for header in context.direct_public_headers
            if header.is_source and header.owner.workspace_name == ""
        ]
    public = list(own)
    for dep in getattr(ctx.rule.attr, "deps", []):
        if _HeadersInfo in dep:
            public += dep[_HeadersInfo].own
    return [_HeadersInfo(own = own, public = public)]

_headers_aspect = aspect(
    doc = "Collects headers along `deps`.",
    implementation = _headers_aspect_impl,
    attr_aspects = ["deps"],
)

def _public_headers_impl(ctx):
    lines = []
    headers = []
    for target, purpose in ctx.attr.targets.items():
        info = target[_HeadersInfo]
        listed = info.own if info.own else info.public
        lines.append(purpose)
        lines += ["\t" + header.short_path for header in listed]
        headers += listed
    out = ctx.actions.declare_file(ctx.label.name + ".txt")
    ctx.actions.write(out, "".join([line + "\n" for line in lines]))
    return [DefaultInfo(
        files = depset([out]),
        runfiles = ctx.runfiles(files = headers + [out]),
    )]

public_headers = rule(
    doc = """A list of the headers of public targets.

A target without headers stands for its direct dependencies.""",
    implementation = _public_headers_impl,
    attrs = {
        "targets": attr.label_keyed_string_dict(
            doc = "The label for readers and the purpose of each target.",
            mandatory = True,
            aspects = [_headers_aspect],
        ),
    },
)
