"""The image processors of transformers that use Pillow. Their names differ
between versions 4 and 5."""

try:
    from transformers import BlipImageProcessorPil
    from transformers.models.vit.image_processing_pil_vit import (
        ViTImageProcessorPil)
    BY_PILLOW = {"backend": "pil"}
except ImportError:
    from transformers import BlipImageProcessor as BlipImageProcessorPil
    from transformers import ViTImageProcessor as ViTImageProcessorPil
    BY_PILLOW = {"use_fast": False}

__all__ = ["BY_PILLOW", "BlipImageProcessorPil", "ViTImageProcessorPil"]
