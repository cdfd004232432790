"""Draw the pages of pictures/ that are made here: Korean and English text in the free Nanum fonts.

The fonts are Debian's `fonts-nanum` (SIL Open Font License 1.1); only the drawn pages are kept.
Run: python make_pictures.py [FONT_FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

PICTURES = Path(__file__).parent / "pictures"
FONTS = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/fonts/truetype/nanum")
INK = (30, 30, 40)


def font(name: str, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(FONTS / f"{name}.ttf"), size)


Colour = tuple[int, int, int]


def page(size: tuple[int, int], paper: Colour = (250, 249, 244)) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    picture = Image.new("RGB", size, paper)
    return picture, ImageDraw.Draw(picture)


def notice() -> Image.Image:
    """A notice in Korean and English as a scanner would see it: an A4 page laid down a little askew."""
    picture, draw = page((1240, 1754))
    draw.text((150, 140), "도서관 이용 안내", font=font("NanumGothicBold", 84), fill=INK)
    draw.text((150, 260), "How to use the library", font=font("NanumMyeongjo", 54), fill=INK)
    lines = [
        "평일은 오전 아홉 시에 열고 저녁 여덟 시에 닫습니다.",
        "토요일과 일요일에는 오후 다섯 시까지 엽니다.",
        "책은 한 사람이 열 권까지 두 주 동안 빌릴 수 있습니다.",
        "열람실에서는 전화를 받지 말아 주세요.",
        "",
        "Weekdays 09:00 to 20:00, weekends 09:00 to 17:00.",
        "Ten books for two weeks. Please do not eat here.",
        "",
        "잃어버린 물건은 1층 안내대에 맡겨 주세요.",
        "문의: 안내대 (내선 1204)",
    ]
    for number, line in enumerate(lines):
        draw.text((150, 420 + 96 * number), line, font=font("NanumMyeongjo", 42), fill=INK)
    draw.rectangle((150, 1430, 1090, 1600), outline=(160, 40, 40), width=5)
    draw.text((200, 1475), "매월 첫째 월요일은 쉽니다", font=font("NanumSquareB", 62), fill=(160, 40, 40))
    return picture.rotate(2.5, resample=Image.Resampling.BICUBIC, fillcolor=(120, 118, 112))


def receipt() -> Image.Image:
    """A receipt cut out of its background: RGBA, with transparent corners."""
    picture = Image.new("RGBA", (420, 900), (255, 255, 255, 0))
    draw = ImageDraw.Draw(picture)
    draw.rounded_rectangle((0, 0, 419, 899), radius=40, fill=(255, 255, 255, 255))
    draw.text((120, 50), "동네 빵집", font=font("NanumGothicBold", 44), fill=INK)
    rows = [
        ("소금빵", "3,200"),
        ("단팥빵", "2,500"),
        ("우유 식빵", "4,800"),
        ("커피", "3,000"),
        ("Croissant", "3,900"),
    ]
    for number, (left, right) in enumerate(rows):
        draw.text((40, 170 + 80 * number), left, font=font("NanumGothicCoding", 32), fill=INK)
        draw.text((290, 170 + 80 * number), right, font=font("NanumGothicCoding", 32), fill=INK)
    draw.line((40, 590, 380, 590), fill=INK, width=2)
    draw.text((40, 620), "합계", font=font("NanumGothicBold", 40), fill=INK)
    draw.text((250, 620), "17,400", font=font("NanumGothicBold", 40), fill=INK)
    draw.text((70, 780), "고맙습니다 Thank you", font=font("NanumGothic", 28), fill=INK)
    return picture


def banner() -> Image.Image:
    """A wide road sign, white on blue: the letterbox leaves it nine times as wide as high."""
    picture, draw = page((2400, 270), (20, 70, 150))
    white = (255, 255, 255)
    draw.text((90, 50), "시청 방향 →", font=font("NanumSquareB", 120), fill=white)
    draw.text((1000, 60), "City Hall", font=font("NanumGothicBold", 110), fill=white)
    draw.text((1780, 60), "2.5 km", font=font("NanumGothicBold", 110), fill=white)
    return picture


def tiny() -> Image.Image:
    """The smallest picture: two syllables on 90 by 40 pixels."""
    picture, draw = page((90, 40))
    draw.text((22, 6), "출구", font=font("NanumGothicBold", 22), fill=INK)
    return picture


def form() -> Image.Image:
    """A form in shades of grey: a PNG with one channel."""
    picture, draw = page((900, 600), (225, 225, 225))
    draw.text((60, 50), "택배 보내는 곳", font=font("NanumGothicBold", 52), fill=INK)
    for number, (key, value) in enumerate(
        [("받는 이", "김하늘"), ("주소", "바닷가 마을 가람로 12"), ("Name", "Haneul Kim"), ("전화", "없음")]
    ):
        y = 170 + 95 * number
        draw.text((60, y), key, font=font("NanumGothic", 34), fill=(90, 90, 90))
        draw.text((280, y), value, font=font("NanumGothicBold", 38), fill=INK)
        draw.line((270, y + 58, 840, y + 58), fill=(130, 130, 130), width=2)
    return picture.convert("L")


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    notice().save(PICTURES / "notice.jpg", quality=82)
    receipt().save(PICTURES / "receipt_rgba.png", optimize=True)
    banner().save(PICTURES / "banner.jpg", quality=85)
    tiny().save(PICTURES / "tiny.png", optimize=True)
    form().save(PICTURES / "form_grey.png", optimize=True)


if __name__ == "__main__":
    main()
